import type { FastifyInstance, onSendHookHandler } from 'fastify';

/**
 * Leaves Content-Length out of a 304 of HEAD, because Fastify writes that of the empty body: the header would be the
 * length of the content that the client has (RFC 9110, 8.6).
 */
export function installNotModified(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [...[route.onSend ?? []].flat(), withoutLength];
  });
}

const withoutLength: onSendHookHandler = (_request, reply, payload, done) => {
  if (reply.statusCode === 304) reply.removeHeader('content-length');
  done(null, payload);
};
