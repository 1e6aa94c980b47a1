import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HEADERS } from '../openapi/document.ts';

/** The headers of an answer that a page of another origin may read. */
const EXPOSED = [
  'ETag',
  'Location',
  'Allow',
  'Content-Length',
  'Content-Range',
  'Content-Disposition',
  'WWW-Authenticate',
  ...Object.keys(HEADERS),
].join(', ');
/** The headers that such a page may send. */
const SENT =
  'Authorization, Content-Type, Accept, Idempotency-Key, X-Request-Id, Range, If-None-Match, If-Range';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const DAY_SECONDS = 86_400;

type IsSigned = (request: FastifyRequest) => boolean;

/**
 * Answers browsers whose pages come from another origin, before anything is asked of the call: refusals can be read
 * too. The origins that the operator named may do everything that their key may; public reads are for every origin. No
 * cookie is ever taken.
 * @param origins as CORS_ORIGINS has them: comma-separated, or `*`; '' for none.
 */
export function installCors(app: FastifyInstance, origins: string): void {
  const named = new Set(origins.split(','));
  const isEvery = named.has('*');
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    if (origin === undefined) return done();
    const isNamed = isEvery || named.has(origin);
    if (!isNamed && !isPublicRead(request)) return done();
    allow(reply, isNamed && !isEvery ? origin : '*');
    if (isNamed && isPreflight(request)) {
      allowMore(reply, METHODS).code(204).send();
      return;
    }
    done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * What is read without a credential: the documentation, the catalogue, health. Routes of signed links look at the link.
 */
function isPublicRead({ method, url, routeOptions: { config } }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  const isPublic = config.access === 'public' && config.ignoresCredential === undefined;
  return isPublic || !(url.startsWith('/api/') || url.startsWith('/metrics'));
}

/**
 * Opens signed links to pages of every origin, refusals included: a link carries its own right, and no credential comes
 * along.
 * @param app whose routes are meant.
 * @param isSigned whether this very request is made by such a link.
 */
export function openToEveryOrigin(app: FastifyInstance, isSigned: IsSigned): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isSigned(request)) allow(reply, '*');
  });
}

/** Answers what a browser asks before it sends what a form could not: PUT, or a header of its own. */
export function answerPreflight(
  app: FastifyInstance,
  path: string,
  { methods, isSigned }: { methods: readonly string[]; isSigned: IsSigned },
): void {
  const allowed = methods.join(', ');
  app.options(
    path,
    { config: { access: 'public', ignoresCredential: () => true }, schema: { hide: true } },
    async (request, reply) => {
      if (isSigned(request)) allowMore(allow(reply, '*'), allowed);
      return reply.code(204).header('allow', allowed).send();
    },
  );
}

function allow(reply: FastifyReply, origin: string): FastifyReply {
  if (origin !== '*') varyBy(reply, 'origin');
  return reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED);
}

function allowMore(reply: FastifyReply, methods: string): FastifyReply {
  return reply
    .header('access-control-allow-methods', methods)
    .header('access-control-allow-headers', SENT)
    .header('access-control-max-age', String(DAY_SECONDS));
}

/** Notes that answers differ by a header of the request. */
export function varyBy(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary')?.toString();
  reply.header('vary', before === undefined ? name : `${before}, ${name}`);
}
