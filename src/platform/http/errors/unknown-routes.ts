import type { FastifyInstance, FastifyRequest } from 'fastify';
import { nearestName } from '../../ids/nearest.ts';
import { ApiError } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the last segment is a fixed word and never an id, so that a wrong method is 405. */
    fixedWord?: true;
  }
}

/** A served path, and the methods of one of its declarations. */
interface ServedRoute {
  url: string;
  matches: RegExp;
  methods: string[];
}

/**
 * An unknown path is 404 not_found; a known one with another method is 405 with Allow. Both are sent before
 * authentication. This function must be called before any route is declared, because it records each route when it is
 * declared.
 */
export function installUnknownRoutes(app: FastifyInstance): void {
  const table = createRouteTable();
  const fixedWords = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const methods = [method].flat();
    table.add(url, methods);
    if (config?.fixedWord) fixedWords.set(url, [...(fixedWords.get(url) ?? []), ...methods]);
  });
  app.setNotFoundHandler(refuse);
  // This runs before the body is checked, so that a wrong method is reported first.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404 || hasParameters(request)) refuseWrongMethod(request);
    if (request.is404 || hasEmptyLastParameter(request)) refuse(request);
    done();
  });

  /** Refuses a wrong method on a fixed word, which the router took for an id. */
  function refuseWrongMethod(request: FastifyRequest): void {
    const path = pathOf(request);
    const methods = fixedWords.get(path);
    if (methods !== undefined && request.routeOptions.url !== path) throw methodNotAllowed(request, methods);
  }

  function refuse(request: FastifyRequest): never {
    const path = pathOf(request);
    const allowed = request.is404 ? table.methodsOf(path) : [];
    if (allowed.length > 0) throw methodNotAllowed(request, allowed);
    const { says, suggest } = table.suggestPath(request.method, path);
    const message = `There is nothing at ${path}: GET /openapi.json lists every path.${says}`;
    throw new ApiError('not_found', message, { details: suggest && { suggest } });
  }

  function methodNotAllowed(request: FastifyRequest, methods: readonly string[]): ApiError {
    const { method } = request;
    const allowed = methods.toSorted();
    const path = pathOf(request);
    const changes = table.changingRoutesBelow(path);
    const others = changes.length === 0 ? '' : ` There are also ${changes.join(', ')}.`;
    const message = `${method} is not a method of this path: use ${allowed.join(' or ')}.${others}`;
    const headers = { allow: allowed.join(', ') };
    const calls = allowed.filter((one) => !UNSUGGESTED_METHODS.includes(one)).map((one) => `${one} ${path}`);
    const details = { allowed, suggest: [...changes, ...calls] };
    return new ApiError('method_not_allowed', message, { details, headers });
  }
}

/** Methods that are never suggested, because nobody who sends another method means one of them. */
const UNSUGGESTED_METHODS = ['HEAD', 'OPTIONS'];

/**
 * A path must have at least this number of parts, split at `/`, for its routes to be listed. `/api/v1/images` has four,
 * of which the first is empty. A shorter path has too many routes below it.
 */
const MIN_LISTED_SEGMENTS = 4;

/** The table of served routes, for errors about calls that match none of them. */
function createRouteTable() {
  const routes: ServedRoute[] = [];

  /** The method to recommend for a path: the preferred one, if the path has it. */
  function recommendedMethod(url: string, preferred: string): string | undefined {
    const methods = routes.filter((route) => route.url === url).flatMap((route) => route.methods);
    if (methods.includes(preferred)) return preferred;
    return methods.find((name) => !UNSUGGESTED_METHODS.includes(name));
  }

  /** The routes below a path. The key is the rest of a route's path, and the value is its whole path. */
  function routesBelow(path: string): Map<string, string> {
    const found = new Map<string, string>();
    const { length } = path.split('/');
    if (length < MIN_LISTED_SEGMENTS) return found;
    for (const { url } of routes) {
      const parts = url.split('/');
      const rest = parts.slice(length).join('/');
      if (rest === '' || rest.startsWith(':') || rest.includes('*')) continue;
      if (pathPatternOf(parts.slice(0, length).join('/')).test(path)) found.set(rest, url);
    }
    return found;
  }

  return {
    add(url: string, methods: string[]): void {
      routes.push({ url, matches: pathPatternOf(url), methods });
    },
    methodsOf(path: string): string[] {
      return [
        ...new Set(routes.filter(({ matches }) => matches.test(path)).flatMap(({ methods }) => methods)),
      ];
    },
    /**
     * Suggests the path that was probably meant. This is the path without a trailing slash, with a missing `/api/v1`,
     * or with a similar spelling of its last segment. The whole path is compared if its level has no paths. If no path
     * is similar, the existing paths of the same level are listed.
     * @returns the end of a message, and the calls of which one was probably meant.
     */
    suggestPath(method: string, path: string): { says: string; suggest?: string[] } {
      const tail = withoutTrailingSlashes(path).replace(/^\/(api\/)?(v\d+\/)?/, '/');
      const meant = [tail, `/api/v1${tail}`, `/api/v1/images${tail}`];
      const served = routes.find(({ matches }) => meant.some((candidate) => matches.test(candidate)));
      const lastSlash = path.lastIndexOf('/');
      const parent = path.slice(0, lastSlash);
      const siblings = routesBelow(parent);
      const urls = routes.map(({ url }) => url).filter((url) => !url.includes('*'));
      const similar =
        siblings.size > 0
          ? siblings.get(nearestName(path.slice(lastSlash + 1), [...siblings.keys()]) ?? '')
          : nearestName(`/api/v1${tail}`, urls);
      const known = served?.url ?? similar;
      const meantUrls = known === undefined ? urlsWithWordsOf(tail, urls) : [known];
      if (meantUrls.length > 0) {
        const calls = meantUrls.map((url) => `${recommendedMethod(url, method)} ${openApiPathOf(url)}`);
        return { says: ` Did you mean ${calls.join(' or ')}?`, suggest: calls };
      }
      if (siblings.size === 0) return { says: '' };
      const names = [...siblings.keys()].map(openApiPathOf);
      const suggest = names.map((name) => `${parent}/${name}`);
      return { says: ` Below ${parent} there are ${names.join(', ')}.`, suggest };
    },
    /** Routes below a path that change its resource, such as the cancellation of a job. */
    changingRoutesBelow(path: string): string[] {
      return [...routesBelow(path)].flatMap(([rest, url]) => {
        const method = recommendedMethod(url, 'POST');
        return method === undefined || method === 'GET' ? [] : [`${method} ${path}/${openApiPathOf(rest)}`];
      });
    },
  };
}

/**
 * The path without slashes at its end. A regular expression would take time in the square of the number of slashes if a
 * character follows them.
 */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/**
 * The served paths whose last segment contains every word of the last segment of the path. Plural endings are ignored,
 * so that `/webhooks` finds `/webhook-endpoints`.
 */
function urlsWithWordsOf(path: string, urls: readonly string[]): string[] {
  const wordsOf = (one: string) =>
    (one.split('/').at(-1) ?? '').split('-').map((word) => word.replace(/s$/, ''));
  const wanted = wordsOf(path);
  if (wanted.some((word) => word === '')) return [];
  const found = urls.filter((url) => wanted.every((word) => wordsOf(url).includes(word)));
  return [...new Set(found)].slice(0, MAX_SUGGESTED_PATHS);
}

const MAX_SUGGESTED_PATHS = 3;

/** The path of a route as OpenAPI writes it: `/jobs/:jobId` becomes `/jobs/{jobId}`. */
function openApiPathOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

/** Whether the route has a parameter segment. */
function hasParameters({ params }: FastifyRequest): boolean {
  for (const _name in params as object) return true;
  return false;
}

/**
 * Whether the last parameter of an API path is empty. This is the case for the path of a list with a slash at its end.
 */
function hasEmptyLastParameter(request: FastifyRequest): boolean {
  const path = pathOf(request);
  return path.endsWith('/') && path.startsWith('/api/') && hasParameters(request);
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? '';
}

/** A regular expression for the paths of a route such as `/templates/:id/versions`. */
function pathPatternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('/')}$`);
}
