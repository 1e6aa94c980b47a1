import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** Index of the pipe between a child process and its owner: it carries input bytes in, and result bytes back. */
export const DATA_PIPE_INDEX = 4;

/**
 * Frees bytes that are no longer read, without waiting for the garbage collector. V8 reacts to megabytes outside its
 * heap with full collections: for a 4 MB file, they cost as much as processing its picture. Bytes that share their
 * buffer with other bytes are not freed.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * Reads `sizeBytes` bytes from a pipe and copies each chunk into its place as it arrives. A message would copy the
 * bytes several times.
 * @throws the signal's reason when it aborts first, or the error with which the pipe fails.
 */
export async function readBytesFromPipe(
  pipe: Readable,
  sizeBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  // The buffer is not zeroed first, because it is either filled completely or discarded.
  const bytes = Buffer.allocUnsafeSlow(sizeBytes);
  let filled = 0;
  const take = (chunk: Uint8Array) => {
    bytes.set(chunk, filled);
    filled += chunk.length;
    freeBytes(chunk);
  };
  pipe.on('data', take);
  pipe.resume();
  try {
    while (filled < bytes.length) await once(pipe, 'data', { signal });
    return bytes;
  } finally {
    pipe.pause();
    pipe.off('data', take);
  }
}
