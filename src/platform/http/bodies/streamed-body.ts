import { finished, type Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidParam } from '../errors.ts';

/** The part that is too large: the image itself or another part by its name, or the body around it. */
type Sized = string;

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
 * Collects a body into one buffer that owns its memory. A Content-Length gives the size, so that a whole body is
 * copied once; without one the buffer doubles as it fills. A body that is refused stays open, as `within` leaves it.
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
  let buffer = unfilled(announced ?? 64 * 1024);
  let length = 0;
  await eachChunk(stream, (chunk) => {
    if (length + chunk.length > limitBytes) throw tooLarge(param, limitBytes);
    if (length + chunk.length > buffer.length) buffer = grown(buffer, length, length + chunk.length);
    chunk.copy(buffer, length);
    length += chunk.length;
    freeNow(chunk);
  });
  return length === buffer.length ? buffer : Buffer.from(buffer.buffer.slice(0, length));
}

/**
 * Hands on the chunks of a body as they come. The promises that an iterator makes for each chunk would cost as much
 * CPU as the chunk itself. A body whose chunk is refused is paused and left open.
 * @throws what `take` throws, or invalid_param on `body` when it was cut off.
 */
function eachChunk(body: Readable, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        leave();
        body.pause();
        reject(error);
      }
    };
    const forget = finished(body, { writable: false }, (error) => {
      leave();
      if (error) reject(cutOff(error));
      else resolve();
    });
    function leave(): void {
      body.off('data', onData);
      forget();
    }
    body.on('data', onData);
  });
}

/** Reads the rest of a body that nobody wants, and drops it. */
export function drop(body: Readable): void {
  body.on('data', freeNow);
  body.resume();
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

/**
 * Memory of its own that is not cleared first: clearing would map every page again, a fifth of what receiving a large
 * body costs. Who takes it cuts off what was not written.
 */
function unfilled(sizeBytes: number): Buffer<ArrayBuffer> {
  return Buffer.allocUnsafeSlow(sizeBytes);
}

function grown(buffer: Buffer<ArrayBuffer>, used: number, needed: number): Buffer<ArrayBuffer> {
  const larger = unfilled(Math.max(needed, buffer.length * 2));
  buffer.copy(larger, 0, 0, used);
  return larger;
}

/**
 * Frees what a chunk took without waiting for the garbage collector. Bodies lie outside of the JavaScript heap, and V8
 * answers their growth with full collections: at 2 MB per call these cost as much CPU as the picture. Only for a chunk
 * that nobody reads any more.
 */
function freeNow({ buffer, byteLength }: Buffer): void {
  const isWhole = buffer.byteLength === byteLength && buffer instanceof ArrayBuffer;
  if (isWhole && !buffer.detached) buffer.transfer(0);
}
