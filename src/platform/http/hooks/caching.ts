import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
  onSendHookHandler,
} from 'fastify';
import Negotiator from 'negotiator';
import { varyBy } from './cors.ts';

/**
 * Sets headers for caches and browsers. Responses contain balances, keys and links, so no cache may store one without
 * its own Cache-Control. Browsers must not guess types, and must not show a response in a frame of another origin,
 * where clicks could be stolen.
 */
export function installCaching(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (!reply.hasHeader('cache-control') && isApiRequest(request)) reply.header('cache-control', 'no-store');
    if (!reply.hasHeader('x-content-type-options')) reply.header('x-content-type-options', 'nosniff');
    if (isHtmlResponse(reply) && !reply.hasHeader('content-security-policy'))
      reply.header('content-security-policy', "frame-ancestors 'none'");
    done();
  });
}

/** Whether the request reached the API, even by a percent-encoded path. */
function isApiRequest(request: FastifyRequest): boolean {
  // The URL is checked first, because Fastify copies the options of a route at each access.
  return request.url.startsWith('/api/') || request.routeOptions.url?.startsWith('/api/') === true;
}

function isHtmlResponse(reply: FastifyReply): boolean {
  return String(reply.getHeader('content-type') ?? '').startsWith('text/html');
}

/**
 * Leaves Content-Length out of a 304 for HEAD, because Fastify writes the length of the empty body. In a 304, the
 * header is the length of the content that the client has (RFC 9110, 8.6).
 */
export function installNotModified(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [...[route.onSend ?? []].flat(), removeContentLength];
  });
}

const removeContentLength: onSendHookHandler = (_request, reply, payload, done) => {
  if (reply.statusCode === 304) reply.removeHeader('content-length');
  done(null, payload);
};

/** Whether an If-None-Match header contains this ETag, by weak comparison. */
export function isEtagMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const plain = etag.replace(/^W\//, '');
  return header.split(',').some((tag) => ['*', plain].includes(tag.trim().replace(/^W\//, '')));
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the response is a long text, which is sent compressed to clients that accept it. */
    compress?: true;
  }
}

const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
const COMPRESSORS = {
  br: (text: string) => promisify(brotliCompress)(text, BROTLI_OPTIONS),
  gzip: (text: string) => promisify(gzip)(text),
};
type ContentCoding = keyof typeof COMPRESSORS;
/**
 * Codings of content that clients cache for ever, in the order of preference. Brotli costs more than gzip, but saves a
 * seventh more.
 */
const IMMUTABLE_CODINGS: readonly ContentCoding[] = ['br', 'gzip'];
const DYNAMIC_RESPONSE_CODINGS: readonly ContentCoding[] = ['gzip'];
const MIN_COMPRESSIBLE_CHARACTERS = 1_024;
/** Limit on cached compressed responses. Each static response is compressed once per process and coding. */
const MAX_CACHED_BODIES = 600;
const compressedBodies = new Map<string, Buffer>();

/**
 * Sends long texts compressed, or 304 if the client has the current response. The hook is added only to routes with
 * `compress`, as their first hook, so that it costs other routes nothing.
 */
export function installCompression(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.compress) route.onSend = [compressResponse, ...[route.onSend ?? []].flat()];
  });
}

const compressResponse: onSendAsyncHookHandler = async (request, reply, payload) => {
  const isText = typeof payload === 'string';
  if (isText) varyBy(reply, 'accept-encoding');
  const etag = reply.getHeader('etag')?.toString();
  if (etag !== undefined && isEtagMatch(request.headers['if-none-match'], etag)) {
    reply.code(304).removeHeader('content-length');
    // Fastify's own hook for HEAD fails on null.
    return request.method === 'HEAD' ? '' : null;
  }
  const isLasting = reply.getHeader('cache-control')?.toString().includes('immutable') ?? false;
  const coding = codingFor(request, isLasting ? IMMUTABLE_CODINGS : DYNAMIC_RESPONSE_CODINGS);
  if (!isText || payload.length < MIN_COMPRESSIBLE_CHARACTERS || coding === undefined) return payload;
  const body = await compressedText(payload, coding, etag);
  reply.header('content-encoding', coding).header('content-length', String(body.length));
  return body;
};

/**
 * Sends static content with its ETag.
 * @param cacheControl how long a cache may keep it. If absent, a cache revalidates the content each time.
 */
export function sendStaticContent(
  reply: FastifyReply,
  type: string,
  content: string | Buffer,
  cacheControl = 'no-cache',
): FastifyReply {
  return reply.header('etag', etagOf(content)).header('cache-control', cacheControl).type(type).send(content);
}

/** A strong ETag: the first characters of the SHA-256 of the content. */
function etagOf(content: string | Buffer): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 22)}"`;
}

/** The ETag of an envelope's data, without its timestamp. */
export function etagOfData(data: unknown): string {
  return `W/${etagOf(JSON.stringify(data))}`;
}

async function compressedText(
  text: string,
  coding: ContentCoding,
  etag: string | undefined,
): Promise<Buffer> {
  // An envelope has a weak ETag, because its bytes differ by the timestamp. Only static responses are cached.
  const isStatic = etag !== undefined && !etag.startsWith('W/');
  const key = `${coding} ${etag}`;
  const known = isStatic ? compressedBodies.get(key) : undefined;
  if (known !== undefined) return known;
  const body = await COMPRESSORS[coding](text);
  if (isStatic && compressedBodies.size < MAX_CACHED_BODIES) compressedBodies.set(key, body);
  return body;
}

/** The first of these codings that the client accepts. */
function codingFor(request: FastifyRequest, codings: readonly ContentCoding[]): ContentCoding | undefined {
  const accepted = new Negotiator(request).encodings(codings);
  return codings.find((coding) => accepted.includes(coding));
}
