import { once } from 'node:events';
import type { Readable } from 'node:stream';

/**
 * The bytes in messages between threads and processes. A message is plain data, and any value in it may be bytes.
 */

/**
 * The index of the pipe between a child process and its owner, which carries the input bytes in and the result bytes
 * back.
 */
export const DATA_PIPE_INDEX = 4;

const NO_BYTES = new Uint8Array();

/**
 * A message to or from a child process. Its bytes follow on the data pipe, because a message would copy them several
 * times.
 */
export interface SplitMessage<T> {
  /** The message, in which all bytes are empty. */
  plain: T;
  /** The size in bytes of each emptied value, in the order of the values. */
  sizes: number[];
}

/** The message that a child process sends when it begins a task, which may be some time after the task was sent. */
export const TASK_BEGUN = 'begun';

/** The answer of a child process to a task. */
export interface ChildProcessAnswer<Reply> extends SplitMessage<Reply> {
  /** CPU time that the process used for the task, in milliseconds. */
  cpuMs: number;
}

/** Separates a message from its bytes. */
export function splitMessage<T>(message: T): { sent: SplitMessage<T>; files: Uint8Array[] } {
  const files: Uint8Array[] = [];
  const plain = replaceBytes(message, (bytes) => {
    files.push(bytes);
    return NO_BYTES;
  });
  return { sent: { plain, sizes: files.map(({ byteLength }) => byteLength) }, files };
}

/**
 * Reads the bytes of a message from a pipe. Each value owns its memory.
 * @throws the signal's reason when it aborts first, or the error with which the pipe fails.
 */
export async function joinMessage<T>(
  { plain, sizes }: SplitMessage<T>,
  pipe: Readable,
  signal?: AbortSignal,
): Promise<T> {
  const files = (await readFilesFromPipe(pipe, sizes, signal)).values();
  return replaceBytes(plain, () => files.next().value ?? NO_BYTES);
}

export function sumOfSizes(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** A copy of a message in which bytes are replaced, in the order of the values. */
export function replaceBytes<T>(message: T, replacement: (bytes: Uint8Array) => Uint8Array): T {
  if (message instanceof Uint8Array) return replacement(message) as T;
  if (Array.isArray(message)) return message.map((value) => replaceBytes(value, replacement)) as T;
  if (typeof message !== 'object' || message === null) return message;
  const copy = { ...message };
  for (const name in copy)
    if (typeof copy[name] === 'object') copy[name] = replaceBytes(copy[name], replacement);
  return copy;
}

/**
 * Frees bytes that are no longer read, without waiting for the garbage collector. V8 reacts to megabytes outside its
 * heap with full collections: for a 4 MB file, they cost as much as processing its picture. Bytes that share their
 * buffer with other bytes are not freed.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * Reads files of the given sizes from a pipe, one after the other, and copies each chunk into its place as it arrives.
 * A copy of all of them at the end would hold up the event loop.
 */
async function readFilesFromPipe(
  pipe: Readable,
  sizes: readonly number[],
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  // The buffers are not zeroed first, because they are either filled completely or discarded.
  const files = sizes.map((size) => Buffer.allocUnsafeSlow(size));
  let missing = sumOfSizes(sizes);
  let [current, filled] = [0, 0];
  const take = (chunk: Uint8Array) => {
    missing -= chunk.length;
    let rest = chunk;
    for (let file = files[current]; file !== undefined && rest.length > 0; file = files[current]) {
      const part = rest.subarray(0, file.length - filled);
      file.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
      if (filled === file.length) [current, filled] = [current + 1, 0];
    }
    freeBytes(chunk);
  };
  pipe.on('data', take);
  pipe.resume();
  try {
    while (missing > 0) await once(pipe, 'data', { signal });
    return files;
  } finally {
    pipe.pause();
    pipe.off('data', take);
  }
}
