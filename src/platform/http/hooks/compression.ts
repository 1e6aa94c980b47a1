import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify';
import Negotiator from 'negotiator';
import { varyBy } from './cors.ts';
import { isFresh } from './freshness.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the response is a long text, which is sent as gzip to clients that accept it. */
    compress?: true;
  }
}

const gzipped = promisify(gzip);
const MIN_COMPRESSED_BYTES = 1_024;
/** Compressed static responses by ETag; each is compressed once per process. */
const MAX_CACHED_BODIES = 600;
const compressedTexts = new Map<string, Buffer>();

/**
 * Sends long texts as gzip, or 304 if the client has the current response. It is installed as the first hook of the
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
  if (etag !== undefined && isFresh(request.headers['if-none-match'], etag)) {
    reply.code(304).removeHeader('content-length');
    // Fastify's own hook for HEAD fails on null.
    return request.method === 'HEAD' ? '' : null;
  }
  if (!isText || payload.length < MIN_COMPRESSED_BYTES || !takesGzip(request)) return payload;
  const body = await compressedText(payload, etag);
  reply.header('content-encoding', 'gzip').header('content-length', String(body.length));
  return body;
};

/**
 * Sends a static content with an ETag of it.
 * @param cacheControl how long a cache may keep it: without it, a cache asks each time whether it has changed.
 */
export function sendStatic(
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
export function tagOfData(data: unknown): string {
  return `W/${tagOf(JSON.stringify(data))}`;
}

async function compressedText(text: string, etag: string | undefined): Promise<Buffer> {
  // The ETag is weak, because the bytes of an envelope differ by its timestamp.
  const isStatic = etag !== undefined && !etag.startsWith('W/');
  const known = isStatic ? compressedTexts.get(etag) : undefined;
  if (known !== undefined) return known;
  const body = await gzipped(text);
  if (isStatic && compressedTexts.size < MAX_CACHED_BODIES) compressedTexts.set(etag, body);
  return body;
}

function takesGzip(request: FastifyRequest): boolean {
  return new Negotiator(request).encodings(['gzip']).length > 0;
}
