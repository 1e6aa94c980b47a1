import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFresh } from '../../../platform/http/hooks/freshness.ts';
import type { ByteRange } from '../../../platform/values/byte-range.ts';
import { cacheControl, rangeOf } from './content.ts';

/** A file as a route sends it. */
interface SentFile {
  /** The media type. */
  type: string;
  sizeBytes: number;
  etag: string;
  /** Epoch milliseconds after which no copy may be used; null for no such time. */
  ends: ReadonlyArray<number | null>;
  /** Headers of its own. */
  headers: Record<string, string>;
  /** Opens the bytes, or a range of them. Not called where none are sent: for a 304 and for a HEAD. */
  open(range: ByteRange | null): Readable | Promise<Readable>;
}

/**
 * Sends a file: whole, or the single range that the request asks for, or 304 when the client has it already. The
 * headers are set once the file is open, so that the response to a failure is not taken for the file.
 */
export async function sendRanged(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, sizeBytes, etag, ends, headers, open }: SentFile,
  nowMs: number,
): Promise<FastifyReply> {
  const isKnown = isFresh(request.headers['if-none-match'], etag);
  const range = rangeOf(request, { sizeBytes, etag });
  // For a HEAD the server would read the whole stream, only to discard it.
  const body = isKnown || request.method === 'HEAD' ? Readable.from([]) : await open(range);
  reply
    .type(type)
    .headers(headers)
    .header('etag', etag)
    .header('cache-control', cacheControl(ends, nowMs))
    .header('accept-ranges', 'bytes');
  if (isKnown) return reply.code(304).send();
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end}/${sizeBytes}`);
  return reply.header('content-length', String(end - start + 1)).send(body);
}
