import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';

/**
 * Sets headers for caches and browsers. Responses contain balances, keys and links, so no cache may store one without
 * its own Cache-Control. Browsers must not guess types, and must not show a response in a frame of another origin,
 * where clicks could be stolen.
 */
export function installCaching(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (!reply.hasHeader('cache-control') && isOfInterface(request))
      reply.header('cache-control', 'no-store');
    if (!reply.hasHeader('x-content-type-options')) reply.header('x-content-type-options', 'nosniff');
    if (isPage(reply) && !reply.hasHeader('content-security-policy'))
      reply.header('content-security-policy', "frame-ancestors 'none'");
    done();
  });
}

/** Whether the request reached the API, even by a percent-encoded path. */
function isOfInterface(request: FastifyRequest): boolean {
  // Reading the options of a route copies them.
  return request.url.startsWith('/api/') || request.routeOptions.url?.startsWith('/api/') === true;
}

function isPage(reply: FastifyReply): boolean {
  return String(reply.getHeader('content-type') ?? '').startsWith('text/html');
}

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

/** Whether an If-None-Match header contains this ETag, by weak comparison. */
export function isEtagMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const plain = etag.replace(/^W\//, '');
  return header.split(',').some((tag) => ['*', plain].includes(tag.trim().replace(/^W\//, '')));
}
