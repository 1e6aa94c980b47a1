import type { ObjectStore } from '../stores/objects/port.ts';
import { HOUR_MS } from '../values/units.ts';
import type { FileStorage, ListedFile } from './storage.ts';

/** Recording a use costs a put, so it is done at most four times a day. */
const USE_RESOLUTION_MS = 6 * HOUR_MS;
const TYPE = 'application/octet-stream';

interface BucketStorageOptions {
  objects: ObjectStore;
  /** The prefix of all keys; it ends with a slash. */
  prefix: string;
  maxFileBytes: number;
}

/** Files in the object store, which all hosts share. The time of an object is that of its last use. */
export class BucketStorage implements FileStorage {
  readonly kind = 'bucket';
  readonly useResolutionMs = USE_RESOLUTION_MS;
  readonly #options: BucketStorageOptions;

  constructor(options: BucketStorageOptions) {
    this.#options = options;
  }

  async read(path: string): Promise<Buffer | null> {
    const { objects, maxFileBytes } = this.#options;
    const bytes = await objects.read(this.#keyOf(path), maxFileBytes).catch(() => null);
    return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  async write(path: string, file: Buffer): Promise<void> {
    await this.#options.objects.put(this.#keyOf(path), file, TYPE);
  }

  remove(path: string): Promise<void> {
    return this.#options.objects.delete(this.#keyOf(path));
  }

  touch(path: string, file: Buffer): Promise<void> {
    return this.write(path, file);
  }

  async list(folder: string): Promise<ListedFile[]> {
    const { objects, prefix } = this.#options;
    const listed = await objects.list(folder === '' ? prefix : `${prefix}${folder}/`);
    return listed.map(({ key, bytes, storedMs }) => ({
      path: key.slice(prefix.length),
      bytes,
      usedMs: storedMs,
    }));
  }

  #keyOf(path: string): string {
    return `${this.#options.prefix}${path}`;
  }
}
