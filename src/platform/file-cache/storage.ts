/** A file as a storage lists it. */
export interface ListedFile {
  /** `<owner>/<group>/<name>` */
  path: string;
  bytes: number;
  /** Epoch milliseconds of its last use. */
  usedMs: number;
}

/** Where the files of a cache lie. Each part of a path is a safe name of a file. */
export interface FileStorage {
  /** What it is, for the metrics. */
  readonly kind: 'disk' | 'bucket';
  /** How exact the time of the last use is, in milliseconds: a use costs this storage a change once in this time. */
  readonly useResolutionMs: number;
  /** Reads a file. Null when there is no such file, or it cannot be read. */
  read(path: string): Promise<Buffer | null>;
  /**
   * Writes a file completely or not at all.
   * @throws StorageFullError if its space is reserved for others.
   */
  write(path: string, file: Buffer): Promise<void>;
  /** Does nothing if there is no such file. */
  remove(path: string): Promise<void>;
  /** Records that a file, which was just read, is in use. */
  touch(path: string, file: Buffer): Promise<void>;
  /** @param folder `<owner>`, `<owner>/<group>`, or nothing for every file. */
  list(folder: string): Promise<ListedFile[]>;
}
