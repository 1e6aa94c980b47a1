import { statfs } from 'node:fs/promises';
import { StorageFullError } from '../documents/port.ts';

/** The lifetime of a measurement of the disk. */
const MAX_MEASUREMENT_AGE_MS = 1_000;
/** The largest share of a small disk that is reserved. */
export const MAX_RESERVED_DISK_SHARE = 0.1;

interface DiskSpace {
  freeBytes: number;
  totalBytes: number;
}

/**
 * Keeps a part of the disk free, so that deletes and the database still work when uploads have filled the rest.
 */
export class DiskReserve {
  readonly #reserveBytes: number;
  readonly #measure: () => Promise<DiskSpace>;
  readonly #maxShare: number;
  #measuredMs = Number.NEGATIVE_INFINITY;
  /** The bytes that may be written before the reserve is used. */
  #spareBytes = 0;

  /** @param maxShare the largest share of a disk that is reserved. */
  constructor(reserveBytes: number, measure: () => Promise<DiskSpace>, maxShare = MAX_RESERVED_DISK_SHARE) {
    this.#reserveBytes = reserveBytes;
    this.#measure = measure;
    this.#maxShare = maxShare;
  }

  /** @throws StorageFullError while less space is free than the reserve. */
  async check(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#measuredMs >= MAX_MEASUREMENT_AGE_MS) {
      const space = await this.#measure();
      this.#spareBytes = space.freeBytes - reservedBytesOf(this.#reserveBytes, space, this.#maxShare);
      this.#measuredMs = nowMs;
    }
    if (this.#spareBytes < 0)
      throw new StorageFullError('The disk of the objects is full but for its reserve.');
  }

  /**
   * Counts bytes that were written since the last measurement. Many uploads within a second could otherwise use up the
   * reserve.
   */
  spend(bytes: number): void {
    this.#spareBytes -= bytes;
  }
}

/** The bytes of a disk that are kept free: the configured number, or a share of a small disk. */
export function reservedBytesOf(
  setBytes: number,
  { totalBytes }: DiskSpace,
  maxShare = MAX_RESERVED_DISK_SHARE,
): number {
  return Math.min(setBytes, totalBytes * maxShare);
}

/** The free space and size of the disk of an existing directory. */
export async function readDiskSpace(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
