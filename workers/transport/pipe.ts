import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** Index of the pipe between a child process and its owner: bytes of inputs go in, those of results come back. */
export const DATA_PIPE = 4;

/**
 * Frees bytes that nobody reads any more without waiting for the garbage collector: V8 answers megabytes outside of its heap
 * with full collections, and a file of 4 MB that goes through a pipe cost as much of them as its picture costs pixels. Bytes
 * that share their memory with others are left alone.
 */
export function freeNow({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * Reads so many bytes, each copied into its place as it comes. As part of a message they would be copied several times.
 * @throws the signal's reason when it aborts before, and what the pipe fails with.
 */
export async function readBytes(
  pipe: Readable,
  sizeBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  // Not cleared first: they are filled whole, or thrown away.
  const bytes = Buffer.allocUnsafeSlow(sizeBytes);
  let filled = 0;
  const take = (chunk: Uint8Array) => {
    bytes.set(chunk, filled);
    filled += chunk.length;
    freeNow(chunk);
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
