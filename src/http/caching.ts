import type { FastifyInstance } from 'fastify';

/** Balances, keys and links are in these answers: no cache keeps one that does not say for itself how long it is good. */
export function installCaching(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    if (request.url.startsWith('/api/') && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'no-store');
  });
}
