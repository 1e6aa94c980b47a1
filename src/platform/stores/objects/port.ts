import type { Readable } from 'node:stream';

/** A range of bytes, from the first to the last. */
export interface ByteRange {
  /** The first byte. Both ends are included. */
  start: number;
  end: number;
}

/**
 * The object store: bytes under random keys. A put resolves when the bytes are durable. Keys are segments of
 * `[a-zA-Z0-9_.-]` between slashes; any other key is refused with a TypeError. Failures of the store reject with
 * StoreUnavailableError.
 */
export interface ObjectStore {
  /**
   * Stores the bytes completely or not at all. A failed stream stores nothing, and its error is thrown.
   * @param recorded the write of the object's document, which has to be durable before the object is visible. The bytes
   *   may be written meanwhile. If it rejects, nothing is stored, and its error is thrown.
   */
  put(
    key: string,
    body: Uint8Array | Readable,
    contentType: string,
    recorded?: Promise<unknown>,
  ): Promise<{ sizeBytes: number }>;
  /**
   * Opens an object; null when there is none. `range` is inclusive on both ends and cut at the object's end. A range
   * that begins past the end is refused with a RangeError. The caller must read the body to its end or destroy it,
   * because it holds a file or a connection.
   */
  get(key: string, range?: ByteRange): Promise<StoredObject | null>;
  /**
   * Reads a whole object into a separate ArrayBuffer, for a worker; null when there is no such object. Rejects with a
   * RangeError when it is larger than the limit.
   */
  read(key: string, limitBytes: number): Promise<Uint8Array | null>;
  /** Deletes an object; does nothing if there is none. */
  delete(key: string): Promise<void>;
  /**
   * Lists at most `limit` keys that begin with `prefix` and were stored before an instant in epoch milliseconds, for
   * sweeps.
   */
  listOlder(prefix: string, beforeMs: number, limit: number): Promise<string[]>;
  /** Lists every object whose key begins with `prefix`, in no particular order. */
  list(prefix: string): Promise<ListedObject[]>;
  /** @throws StorageFullError while the store accepts no more puts. It can still be read. */
  checkFreeSpace(): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface ListedObject {
  key: string;
  /** Bytes that the object takes, which may be slightly more than its content. */
  bytes: number;
  /** When the object was last put, in epoch milliseconds by the clock of the store. */
  storedMs: number;
}

export interface StoredObject {
  body: Readable;
  /** The size of the whole object, regardless of the range. */
  sizeBytes: number;
  contentType: string;
}

const OBJECT_KEY_PATTERN = /^[a-zA-Z0-9_.-]+(\/[a-zA-Z0-9_.-]+)*$/;
const MAX_SEGMENT_CHARACTERS = 200;

/**
 * Throws unless the key is valid in every implementation: segments of `[a-zA-Z0-9_.-]`, none of them `.` or `..`,
 * between slashes. Keys are created by the service and never by a client, so an invalid one is a programming error.
 */
export function assertObjectKey(key: string): void {
  const isSegmentValid = (segment: string) =>
    segment !== '.' && segment !== '..' && segment.length <= MAX_SEGMENT_CHARACTERS;
  if (!OBJECT_KEY_PATTERN.test(key) || !key.split('/').every(isSegmentValid)) {
    throw new TypeError(`"${key}" cannot be the key of an object.`);
  }
}

/**
 * The requested range, inclusive on both ends and cut at the object's end. Throws RangeError when it begins past the
 * end.
 */
export function clipByteRange(range: ByteRange | undefined, sizeBytes: number): ByteRange {
  if (range === undefined) return { start: 0, end: sizeBytes - 1 };
  if (range.start < 0 || range.start >= sizeBytes || range.end < range.start) {
    throw new RangeError(
      `The object has ${sizeBytes} bytes, and none of them from ${range.start} to ${range.end}.`,
    );
  }
  return { start: range.start, end: Math.min(range.end, sizeBytes - 1) };
}

export function assertWithinReadLimit(limitBytes: number, sizeBytes: number): void {
  if (sizeBytes > limitBytes) {
    throw new RangeError(`The object has ${sizeBytes} bytes, more than ${limitBytes}.`);
  }
}
