import { MEGABYTE } from '../values/units.ts';
import { DiskReserve, readSpace } from './objects/reserve.ts';
import { isEmbedded, type Stores, type StoresSettings } from './open.ts';

/**
 * Creates the check of free disk space. Embedded documents are on the disk of DATA_DIR, as are the objects unless they
 * are in a bucket. The disks of MongoDB and of a bucket are not checked.
 * @returns a function that throws StorageFullError while only the reserve of the disk is left.
 */
export function createFreeSpaceCheck(
  settings: StoresSettings,
  { objects }: Pick<Stores, 'objects'>,
): () => Promise<void> {
  if (!isEmbedded(settings) || settings.S3_BUCKET === '') return () => objects.checkFreeSpace();
  const reserveBytes = settings.STORAGE_RESERVE_MEGABYTES * MEGABYTE;
  const reserve = new DiskReserve(reserveBytes, () => readSpace(settings.DATA_DIR));
  return () => reserve.check();
}
