import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';

/** GET /: leads a browser to the documentation. For a program nothing is there, and the refusal says where to look. */
export async function homeRoutes(app: FastifyInstance): Promise<void> {
  app.get('/', { config: { answers: 'text/html' }, schema: { hide: true } }, async (request, reply) => {
    if (!request.headers.accept?.includes('text/html')) {
      throw new ApiError('not_found', 'There is nothing at /: GET /llms.txt says what is where.');
    }
    return reply.redirect('/docs/', 302);
  });
}
