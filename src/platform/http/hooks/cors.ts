import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RESPONSE_HEADERS } from '../openapi/document.ts';

/** The headers of a response that a page of another origin may read. */
const EXPOSED_HEADERS = [
  'ETag',
  'Location',
  'Allow',
  'Content-Length',
  'Content-Range',
  'Content-Disposition',
  'WWW-Authenticate',
  ...Object.keys(RESPONSE_HEADERS),
].join(', ');
/** The headers that a page of another origin may send. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Idempotency-Key, X-Request-Id, Range, If-None-Match, If-Range, MCP-Protocol-Version, Mcp-Method, Mcp-Name';
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const PREFLIGHT_MAX_AGE_SECONDS = 86_400;
/**
 * Matches routes whose responses need a credential, unless their config says otherwise. A path may be percent-encoded.
 */
const PRIVATE_ROUTE_PATTERN = /^\/(api\/|metrics|operator\/)/;

type IsSigned = (request: FastifyRequest) => boolean;

/**
 * Sets the CORS headers before any check of the call, so that pages can read refusals too. The configured origins may
 * make every call; public reads are open to all origins. No page of another origin sends or gets a cookie.
 * @fastify/cors is not used: if it decides per request, it adds `Vary: Origin` to every response, and a cache would
 * then keep a public picture once for each origin.
 * @param origins the value of CORS_ORIGINS: comma-separated, or `*`; '' for none.
 */
export function installCors(app: FastifyInstance, origins: string): void {
  const named = new Set(origins.split(','));
  const allowsEveryOrigin = named.has('*');
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    if (origin === undefined) return done();
    const isConfigured = allowsEveryOrigin || named.has(origin);
    if (!isConfigured && !isPublicRead(request)) return done();
    allowOrigin(reply, isConfigured && !allowsEveryOrigin ? origin : '*');
    if (isConfigured && isPreflight(request)) {
      addPreflightHeaders(reply, ALLOWED_METHODS).code(204).send();
      return;
    }
    done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * Whether a request is a public read without a credential, such as of the documentation, the catalogue or health.
 * Signed links are opened by `openToEveryOrigin`.
 */
function isPublicRead({ method, url, routeOptions: { config, url: route = url } }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  const isPublic = config.access === 'public' && config.ignoresCredential === undefined;
  return isPublic || !PRIVATE_ROUTE_PATTERN.test(route);
}

/**
 * Opens signed links, including their refusals, to pages of all origins, because a link needs no credential.
 * @param app the routes of this instance are opened.
 * @param isSigned whether a request uses a signed link.
 */
export function openToEveryOrigin(app: FastifyInstance, isSigned: IsSigned): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (isSigned(request)) allowOrigin(reply, '*');
    done();
  });
}

/** Declares the route for preflight requests, which browsers send before a PUT or a request with custom headers. */
export function declarePreflightRoute(
  app: FastifyInstance,
  path: string,
  { methods, isSigned }: { methods: readonly string[]; isSigned: IsSigned },
): void {
  const allowed = methods.join(', ');
  app.options(
    path,
    { config: { access: 'public', ignoresCredential: () => true }, schema: { hide: true } },
    async (request, reply) => {
      if (isSigned(request)) addPreflightHeaders(allowOrigin(reply, '*'), allowed);
      return reply.code(204).header('allow', allowed).send();
    },
  );
}

function allowOrigin(reply: FastifyReply, origin: string): FastifyReply {
  if (origin !== '*') varyBy(reply, 'origin');
  return reply
    .header('access-control-allow-origin', origin)
    .header('access-control-expose-headers', EXPOSED_HEADERS);
}

function addPreflightHeaders(reply: FastifyReply, methods: string): FastifyReply {
  return reply
    .header('access-control-allow-methods', methods)
    .header('access-control-allow-headers', ALLOWED_HEADERS)
    .header('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS));
}

/** Adds the name of a request header to Vary, unless Vary has it already. */
export function varyBy(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary')?.toString().split(', ') ?? [];
  if (!before.includes(name)) reply.header('vary', [...before, name].join(', '));
}
