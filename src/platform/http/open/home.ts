import type { FastifyInstance } from 'fastify';

/** The links for a program that knows only the address of the service. */
const LINKS = {
  documentation: '/docs/',
  console: '/console',
  openapi: '/openapi.json',
  llms: '/llms.txt',
  guidelines: '/docs/guidelines.md',
  errors: '/docs/errors.md',
  catalogue: '/api/v1/ops',
  health: '/healthz',
};

/** Serves GET /: a browser is redirected to the documentation, and a program gets the links. */
export async function homeRoutes(
  app: FastifyInstance,
  { publicUrl }: { publicUrl: () => string },
): Promise<void> {
  app.get('/', { config: { responseType: 'text/html' }, schema: { hide: true } }, async (request, reply) => {
    if (request.headers.accept?.includes('text/html')) return reply.redirect('/docs/', 302);
    const absolute = Object.entries(LINKS).map(([name, path]) => [name, publicUrl() + path]);
    return { service: 'Darkroom', ...Object.fromEntries(absolute) };
  });
}
