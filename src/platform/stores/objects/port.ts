import type { Readable } from 'node:stream';

/**
 * Objects: bytes under random keys. A put resolves when the bytes are durable. Keys are segments of `[a-zA-Z0-9_.-]`
 * between slashes; any other is a TypeError. What the store cannot do rejects with StoreUnavailableError.
 */
export interface Objects {
  /**
   * Stores the bytes whole or not at all. A stream that errors leaves nothing behind, and its error is the answer.
   * @param noted the note of the object, which has to be durable before the object is there. Meanwhile the bytes may be
   *   written where nobody finds them. Where it rejects, nothing is stored, and its error is the answer.
   */
  put(
    key: string,
    body: Uint8Array | Readable,
    contentType: string,
    noted?: Promise<unknown>,
  ): Promise<{ sizeBytes: number }>;
  /**
   * Null when there is no such object. `range` is inclusive on both ends and cut at the object's end; one that begins
   * past it is a RangeError. The body is read to its end or destroyed: until then it holds a file or a connection.
   */
  get(key: string, range?: { start: number; end: number }): Promise<StoredObject | null>;
  /** The whole object in one owned ArrayBuffer, for a worker; null when there is none. RangeError when it is larger. */
  read(key: string, limitBytes: number): Promise<Uint8Array | null>;
  /** Deleting what is not there does nothing. */
  delete(key: string): Promise<void>;
  /** Keys that begin with `prefix`, stored before an instant (epoch ms), at most `limit`: what the sweeper deletes. */
  listOlder(prefix: string, beforeMs: number, limit: number): Promise<string[]>;
  /** @throws StorageFullError while the store takes no more puts, though it can be read. */
  checkFreeSpace(): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StoredObject {
  body: Readable;
  /** Size of the whole object, whatever the range. */
  sizeBytes: number;
  contentType: string;
}
