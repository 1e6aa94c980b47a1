import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidParam } from './errors.ts';

/** What is too large: the image itself, or the body around it. */
export type Sized = 'file' | 'body';

/**
 * A body as it comes, for as long as it stays within a limit. One that is left early stays open, so that its sender can
 * still be answered.
 * @throws ApiError payload_too_large on `param`, invalid_param on `body` when it was cut off.
 */
export async function* within(source: Readable, limitBytes: number, param: Sized): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > limitBytes) throw tooLarge(param, limitBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof ApiError ? error : cutOff(error);
  }
}

/**
 * Collects a body into one buffer that owns its memory. A Content-Length tells the size, so that a whole body is
 * copied once; without one the buffer doubles as it fills.
 * @throws ApiError as `within`.
 */
export async function collect(
  stream: Readable,
  request: FastifyRequest,
  limitBytes: number,
  param: Sized,
): Promise<Buffer<ArrayBuffer>> {
  const announced = announcedBytes(request);
  if (announced !== null && announced > limitBytes) throw tooLarge(param, limitBytes);
  let buffer = Buffer.from(new ArrayBuffer(announced ?? 64 * 1024));
  let length = 0;
  for await (const chunk of within(stream, limitBytes, param)) {
    if (length + chunk.length > buffer.length) buffer = grown(buffer, length, length + chunk.length);
    chunk.copy(buffer, length);
    length += chunk.length;
    freeNow(chunk);
  }
  return length === buffer.length ? buffer : Buffer.from(buffer.buffer.slice(0, length));
}

/** The size that a request says its body has; null when it does not say. */
export function announcedBytes({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** 413 with the limit in bytes. */
export function tooLarge(param: Sized, limitBytes: number): ApiError {
  return new ApiError('payload_too_large', `The ${param} is over ${limitBytes} bytes: send a smaller one.`, {
    param,
    details: { limit: limitBytes },
  });
}

function cutOff(cause: unknown): ApiError {
  const refusal = invalidParam('body', 'The body was cut off: send it whole.');
  refusal.cause = cause;
  return refusal;
}

function grown(buffer: Buffer<ArrayBuffer>, used: number, needed: number): Buffer<ArrayBuffer> {
  const larger = Buffer.from(new ArrayBuffer(Math.max(needed, buffer.length * 2)));
  buffer.copy(larger, 0, 0, used);
  return larger;
}

/**
 * Frees what a chunk took without waiting for the garbage collector. Bodies lie outside of the JavaScript heap, and V8
 * answers their growth with full collections: at 2 MB a call these cost as much CPU as the picture. Only for a chunk
 * that nobody reads any more.
 */
function freeNow({ buffer, byteLength }: Buffer): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
