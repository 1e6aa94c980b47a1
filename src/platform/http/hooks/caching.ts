import type { FastifyInstance, FastifyReply } from 'fastify';

/**
 * Balances, keys and links are in the answers of the interface: no cache keeps one that does not say for itself how
 * long it is good. No browser takes an answer for another type than it says, and no page of another origin shows one of
 * ours in a frame, where clicks could be stolen.
 */
export function installCaching(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.url.startsWith('/api/') && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'no-store');
    if (!reply.hasHeader('x-content-type-options')) reply.header('x-content-type-options', 'nosniff');
    if (isPage(reply) && !reply.hasHeader('content-security-policy'))
      reply.header('content-security-policy', "frame-ancestors 'none'");
    done();
  });
}

function isPage(reply: FastifyReply): boolean {
  return String(reply.getHeader('content-type') ?? '').startsWith('text/html');
}
