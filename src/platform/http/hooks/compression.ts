import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify';
import Negotiator from 'negotiator';
import { isEtagMatch } from './caching.ts';
import { varyBy } from './cors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the response is a long text, which is sent compressed to clients that accept it. */
    compress?: true;
  }
}

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
const CODERS = {
  br: (text: string) => promisify(brotliCompress)(text, BROTLI),
  gzip: (text: string) => promisify(gzip)(text),
};
type Coding = keyof typeof CODERS;
/** Codings of content that clients cache for ever. Brotli costs more than gzip, but saves a seventh more. */
const LASTING: readonly Coding[] = ['br', 'gzip'];
const PASSING: readonly Coding[] = ['gzip'];
const MIN_COMPRESSED_BYTES = 1_024;
/** Limit on cached compressed responses. Each static response is compressed once per process and coding. */
const MAX_CACHED_BODIES = 600;
const compressedTexts = new Map<string, Buffer>();

/**
 * Sends long texts compressed, or 304 if the client has the current response. It is installed as the first hook of the
 * routes with `compress` only, so that other routes have no cost.
 */
export function installCompression(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.compress) route.onSend = [compress, ...[route.onSend ?? []].flat()];
  });
}

const compress: onSendAsyncHookHandler = async (request, reply, payload) => {
  const isText = typeof payload === 'string';
  if (isText) varyBy(reply, 'accept-encoding');
  const etag = reply.getHeader('etag')?.toString();
  if (etag !== undefined && isEtagMatch(request.headers['if-none-match'], etag)) {
    reply.code(304).removeHeader('content-length');
    // Fastify's own hook for HEAD fails on null.
    return request.method === 'HEAD' ? '' : null;
  }
  const isLasting = reply.getHeader('cache-control')?.toString().includes('immutable') ?? false;
  const coding = codingFor(request, isLasting ? LASTING : PASSING);
  if (!isText || payload.length < MIN_COMPRESSED_BYTES || coding === undefined) return payload;
  const body = await compressedText(payload, coding, etag);
  reply.header('content-encoding', coding).header('content-length', String(body.length));
  return body;
};

/**
 * Sends static content with its ETag.
 * @param cacheControl how long a cache may keep it. Without it, a cache asks each time whether the content has
 *   changed.
 */
export function sendStaticContent(
  reply: FastifyReply,
  type: string,
  content: string | Buffer,
  cacheControl = 'no-cache',
): FastifyReply {
  return reply.header('etag', tagOf(content)).header('cache-control', cacheControl).type(type).send(content);
}

/** The ETag of a content. */
function tagOf(content: string | Buffer): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}

/** The ETag of an envelope's data, without its timestamp. */
export function etagOfData(data: unknown): string {
  return `W/${tagOf(JSON.stringify(data))}`;
}

async function compressedText(text: string, coding: Coding, etag: string | undefined): Promise<Buffer> {
  // The ETag is weak, because the bytes of an envelope differ by its timestamp.
  const isStatic = etag !== undefined && !etag.startsWith('W/');
  const key = `${coding} ${etag}`;
  const known = isStatic ? compressedTexts.get(key) : undefined;
  if (known !== undefined) return known;
  const body = await CODERS[coding](text);
  if (isStatic && compressedTexts.size < MAX_CACHED_BODIES) compressedTexts.set(key, body);
  return body;
}

/** The first of these codings that the client accepts. */
function codingFor(request: FastifyRequest, codings: readonly Coding[]): Coding | undefined {
  const taken = new Negotiator(request).encodings(codings);
  return codings.find((coding) => taken.includes(coding));
}
