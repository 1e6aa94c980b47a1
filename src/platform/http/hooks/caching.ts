import type { FastifyInstance, FastifyReply } from 'fastify';

/**
 * Sets headers for caches and browsers. Responses contain balances, keys and links, so no cache may store one without
 * its own Cache-Control. Browsers must not guess types, and must not show a response in a frame of another origin,
 * where clicks could be stolen.
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
