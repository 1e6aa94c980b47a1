import { finished, type Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ApiError, invalidParamError } from '../errors/errors.ts';

/**
 * Streams a body up to a limit. If reading stops early, the connection stays open, so that the client can receive a
 * response.
 * @param param the part that may be too large: the image, another part by its name, or the whole body.
 * @throws ApiError payload_too_large on `param`, invalid_param on `body` when the client disconnected.
 */
export async function* limitBody(
  source: Readable,
  limitBytes: number,
  param: string,
): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > limitBytes) throw bodyTooLargeError(param, limitBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof ApiError ? error : bodyCutOffError(error);
  }
}

/**
 * Reads a body into one buffer with its own memory. With a Content-Length, each byte is copied once; without one, the
 * buffer is doubled when it is full. The buffer is not cleared, because that would take a fifth of the time of
 * receiving a large body; its unused part is cut off. A refused body stays open, as with `limitBody`.
 * @throws ApiError as `limitBody`.
 */
export async function collectBody(
  stream: Readable,
  request: FastifyRequest,
  limitBytes: number,
  param: string,
): Promise<Buffer<ArrayBuffer>> {
  const announced = announcedBytes(request);
  if (announced !== null && announced > limitBytes) throw bodyTooLargeError(param, limitBytes);
  let buffer = Buffer.allocUnsafeSlow(announced ?? 64 * 1024);
  let length = 0;
  await forEachChunk(stream, (chunk) => {
    if (length + chunk.length > limitBytes) throw bodyTooLargeError(param, limitBytes);
    if (length + chunk.length > buffer.length) buffer = enlargedBuffer(buffer, length, length + chunk.length);
    chunk.copy(buffer, length);
    length += chunk.length;
    freeChunk(chunk);
  });
  return length === buffer.length ? buffer : Buffer.from(buffer.buffer.slice(0, length));
}

/**
 * Passes each chunk of a body to `take`. An async iterator would spend as much CPU on promises as the chunks themselves
 * take. If `take` throws, the body is paused and stays open.
 * @throws the error of `take`, or invalid_param on `body` when the body was cut off.
 */
function forEachChunk(body: Readable, take: (chunk: Buffer) => void): Promise<void> {
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
    const unsubscribe = finished(body, { writable: false }, (error) => {
      leave();
      if (error) reject(bodyCutOffError(error));
      else resolve();
    });
    function leave(): void {
      body.off('data', onData);
      unsubscribe();
    }
    body.on('data', onData);
  });
}

/** Reads the rest of an unwanted body and drops it. */
export function discardBody(body: Readable): void {
  body.on('data', freeChunk);
  body.resume();
}

/** The Content-Length of a request; null without one. */
export function announcedBytes({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/**
 * The error 413 payload_too_large, with the limit in bytes.
 * @param part what is too large: the file, another part by its name, or the body.
 * @param param the field of the call that holds the part, if its name differs.
 */
export function bodyTooLargeError(part: string, limitBytes: number, param = part): ApiError {
  const message = `The ${part} is over ${limitBytes} bytes: send a smaller one.`;
  return new ApiError('payload_too_large', message, { param, details: { limit: limitBytes } });
}

function bodyCutOffError(cause: unknown): ApiError {
  const refusal = invalidParamError('body', 'The body was cut off: send it whole.');
  refusal.cause = cause;
  return refusal;
}

function enlargedBuffer(buffer: Buffer<ArrayBuffer>, used: number, needed: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, buffer.length * 2));
  buffer.copy(larger, 0, 0, used);
  return larger;
}

/**
 * Frees the memory of a chunk without waiting for the garbage collector. Buffers are outside the JavaScript heap, and
 * V8 runs full collections as they accumulate; with bodies of 2 MB, these collections cost as much CPU time as the work
 * on the pictures. The chunk must not be used any more.
 */
function freeChunk({ buffer, byteLength }: Buffer): void {
  const ownsBuffer = buffer.byteLength === byteLength && buffer instanceof ArrayBuffer;
  if (ownsBuffer && !buffer.detached) buffer.transfer(0);
}
