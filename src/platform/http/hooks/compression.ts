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

const compressed = promisify(gzip);
const LEAST_BYTES = 1_024;
/** Compressed static responses by ETag; each is compressed once per process. */
const PACKED_MAX = 200;
const packed = new Map<string, Buffer>();

/**
 * Sends long responses as gzip, or 304 if the client has the current one. It is installed as the first hook of the
 * routes with `compress` only, so that other routes have no cost.
 */
export function installCompression(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.compress) route.onSend = [compress, ...[route.onSend ?? []].flat()];
  });
}

const compress: onSendAsyncHookHandler = async (request, reply, payload) => {
  if (typeof payload !== 'string') return payload;
  varyBy(reply, 'accept-encoding');
  const etag = reply.getHeader('etag')?.toString();
  if (etag !== undefined && isFresh(request.headers['if-none-match'], etag)) {
    reply.code(304).removeHeader('content-length');
    return null;
  }
  if (payload.length < LEAST_BYTES || !takesGzip(request)) return payload;
  const body = await pack(payload, etag);
  reply.header('content-encoding', 'gzip').header('content-length', String(body.length));
  return body;
};

/** Sends a static text with an ETag of its content. */
export function sendStanding(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply.header('etag', tagOf(text)).header('cache-control', 'no-cache').type(type).send(text);
}

/** The ETag of a content. */
function tagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/** The ETag of an envelope's data, without its timestamp. */
export function tagOfData(data: unknown): string {
  return `W/${tagOf(JSON.stringify(data))}`;
}

async function pack(text: string, etag: string | undefined): Promise<Buffer> {
  // The ETag is weak, because the bytes of an envelope differ by its timestamp.
  const isStanding = etag !== undefined && !etag.startsWith('W/');
  const known = isStanding ? packed.get(etag) : undefined;
  if (known !== undefined) return known;
  const body = await compressed(text);
  if (isStanding && packed.size < PACKED_MAX) packed.set(etag, body);
  return body;
}

function takesGzip(request: FastifyRequest): boolean {
  return new Negotiator(request).encodings(['gzip']).length > 0;
}
