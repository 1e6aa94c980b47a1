import type { FastifyInstance, FastifyRequest } from 'fastify';
import { nearest } from '../../names/nearest.ts';
import { ApiError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The last segment is a fixed word, never an id: a wrong method is 405. */
    fixedWord?: true;
  }
}

/**
 * An unknown path is 404 not_found, a known one with another method 405 with Allow. Both come before authentication.
 * Call before any route is declared: it learns the routes as they come.
 */
export function installUnknownRoutes(app: FastifyInstance): void {
  const routes: Array<{ url: string; matches: RegExp; methods: string[] }> = [];
  const fixedWords = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const methods = [method].flat();
    routes.push({ url, matches: patternOf(url), methods });
    if (config?.fixedWord) fixedWords.set(url, [...(fixedWords.get(url) ?? []), ...methods]);
  });
  app.setNotFoundHandler(refuse);
  // Before anything is asked of the body.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404 || hasParams(request)) refuseWrongMethod(request);
    if (request.is404) refuse(request);
    done();
  });

  /** A fixed word under a method that it does not have was taken for an id. */
  function refuseWrongMethod(request: FastifyRequest): void {
    const path = pathOf(request);
    const methods = fixedWords.get(path);
    if (methods !== undefined && request.routeOptions.url !== path) throw methodNotAllowed(request, methods);
  }

  function refuse(request: FastifyRequest): never {
    const path = pathOf(request);
    const allowed = [
      ...new Set(routes.filter(({ matches }) => matches.test(path)).flatMap(({ methods }) => methods)),
    ];
    if (allowed.length === 0) {
      const hint = hintFor(request.method, path, routes);
      throw new ApiError(
        'not_found',
        `There is nothing at ${path}: GET /openapi.json lists every path.${hint}`,
      );
    }
    throw methodNotAllowed(request, allowed);
  }
}

/** The served path that a wrong one stands for: without its slash at the end, or with the `/api/v1` that it lacks. */
function hintFor(
  asked: string,
  path: string,
  routes: ReadonlyArray<{ url: string; matches: RegExp; methods: string[] }>,
): string {
  const tail = path.replace(/\/+$/, '').replace(/^\/(api\/)?(v\d+\/)?/, '/');
  const meant = [tail, `/api/v1${tail}`, `/api/v1/images${tail}`];
  const served = routes.find(({ matches }) => meant.some((candidate) => matches.test(candidate)));
  const known =
    served?.url ??
    nearest(
      `/api/v1${tail}`,
      routes.map(({ url }) => url).filter((url) => !url.includes('*')),
    );
  if (known === undefined) return '';
  const methods = routes.filter(({ url }) => url === known).flatMap((route) => route.methods);
  const method = methods.includes(asked)
    ? asked
    : methods.find((name) => name !== 'HEAD' && name !== 'OPTIONS');
  return ` Did you mean ${method} ${known.replaceAll(/:(\w+)/g, '{$1}')}?`;
}

/** Whether the route has a segment that any text may stand in. */
function hasParams({ params }: FastifyRequest): boolean {
  for (const _name in params as object) return true;
  return false;
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? '';
}

function methodNotAllowed({ method }: FastifyRequest, methods: readonly string[]): ApiError {
  const allowed = methods.toSorted();
  return new ApiError(
    'method_not_allowed',
    method === 'PATCH' && allowed.includes('PUT')
      ? 'PATCH is not a method of this path: use PUT, which changes only the fields that are sent.'
      : `${method} is not a method of this path: use ${allowed.join(' or ')}.`,
    {
      details: { allowed },
      headers: { allow: allowed.join(', ') },
    },
  );
}

/** `/templates/:id/versions` as a pattern over whole paths. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
