import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** Index of the pipe between a process apart and its owner: bytes of inputs go in, those of results come back. */
export const DATA_PIPE = 4;

/**
 * Reads so many bytes, each copied into its place as it comes. As part of a message they would be copied several times.
 * @throws the signal's reason when it aborts before, and what the pipe fails with.
 */
export async function readBytes(
  pipe: Readable,
  sizeBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(sizeBytes);
  let filled = 0;
  const take = (chunk: Uint8Array) => {
    bytes.set(chunk, filled);
    filled += chunk.length;
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
