import { addAbortSignal } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import type { AssetsStore } from '../store.ts';
import { openContent } from './reading.ts';

interface ChecksummedFile {
  id: string;
  accountId: string;
  objectKey: string;
  /** Null if the asset was stored before sums were kept. */
  crc32: number | null;
}

/** The CRC-32 of stored bytes. @param signal aborts when nobody waits for it. */
export type ChecksumOf = (file: ChecksummedFile, signal: AbortSignal) => Promise<number>;

/**
 * An asset has its sum since it was stored. For one from before sums were kept, the bytes are read once and the sum is
 * kept in the asset and in `file`. They are read in chunks, and each holds the event loop for less than 0.1 ms.
 */
export function createChecksums(store: AssetsStore, objects: Objects): ChecksumOf {
  return async (file, signal) => {
    if (file.crc32 !== null) return file.crc32;
    const { body } = await openContent(objects, file, null);
    let sum = 0;
    for await (const chunk of addAbortSignal(signal, body)) sum = crc32(chunk, sum);
    file.crc32 = sum;
    await store.keepChecksum(file.accountId, file.id, sum);
    return sum;
  };
}
