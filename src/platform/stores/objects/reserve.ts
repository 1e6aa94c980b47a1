import { statfs } from 'node:fs/promises';
import { StorageFullError } from '../documents/port.ts';

/** How long a look at the disk is good for. */
const LOOK_MS = 1_000;
/** The largest share of a small disk that the reserve takes. */
const LARGEST_SHARE = 0.1;

interface Space {
  freeBytes: number;
  totalBytes: number;
}

/**
 * Keeps a part of the disk free, so that deletes and the database's own upkeep work when uploads have filled the rest.
 */
export interface Reserve {
  /** @throws StorageFullError while less is free than is kept. */
  check(): Promise<void>;
  /** Counts what was written since the last look at the disk: many uploads of one second could take the reserve. */
  spend(bytes: number): void;
}

export function createReserve(reserveBytes: number, spaceLeft: () => Promise<Space>): Reserve {
  let lookedMs = Number.NEGATIVE_INFINITY;
  /** Bytes that may still be written before the reserve is touched. */
  let spareBytes = 0;

  return {
    async check() {
      const nowMs = performance.now();
      if (nowMs - lookedMs >= LOOK_MS) {
        const { freeBytes, totalBytes } = await spaceLeft();
        spareBytes = freeBytes - Math.min(reserveBytes, totalBytes * LARGEST_SHARE);
        lookedMs = nowMs;
      }
      if (spareBytes < 0) throw new StorageFullError('The disk of the objects is full but for its reserve.');
    },
    spend(bytes) {
      spareBytes -= bytes;
    },
  };
}

/** The space of the disk that a directory lies on; the directory has to exist. */
export async function spaceOf(directory: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
