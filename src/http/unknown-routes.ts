import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from './errors.ts';

/**
 * An unknown path is 404 not_found, a known one with another method 405 with Allow. Both come before authentication.
 * Call before any route is declared: it learns the routes as they come.
 */
export function installUnknownRoutes(app: FastifyInstance): void {
  const routes: Array<{ matches: RegExp; methods: string[] }> = [];
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ matches: patternOf(url), methods: [method].flat() });
  });
  app.setNotFoundHandler(refuse);
  // Before anything is asked of the body.
  app.addHook('onRequest', async (request) => {
    if (request.is404) refuse(request);
  });

  function refuse(request: FastifyRequest): never {
    const path = request.url.split('?')[0] ?? '';
    const allowed = [
      ...new Set(routes.filter(({ matches }) => matches.test(path)).flatMap(({ methods }) => methods)),
    ];
    if (allowed.length === 0) {
      throw new ApiError('not_found', `There is nothing at ${path}: GET /openapi.json lists every path.`);
    }
    allowed.sort();
    throw new ApiError(
      'method_not_allowed',
      `${request.method} is not a method of this path: use ${allowed.join(' or ')}.`,
      {
        details: { allowed },
        headers: { allow: allowed.join(', ') },
      },
    );
  }
}

/** `/templates/:id/versions` as a pattern over whole paths. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
