import { MEGABYTE } from '../names/units.ts';
import { createReserve, spaceOf } from './objects/reserve.ts';
import { isEmbedded, type Stores, type StoresSettings } from './open.ts';

/**
 * Whether documents and objects may still grow. Embedded documents lie on the disk of DATA_DIR, where the objects lie
 * too unless a bucket has them; the disks of MongoDB and of a bucket are not ours to watch.
 * @returns a check that throws StorageFullError while the disk is full but for its reserve.
 */
export function createRoomCheck(
  settings: StoresSettings,
  { objects }: Pick<Stores, 'objects'>,
): () => Promise<void> {
  if (!isEmbedded(settings) || settings.S3_BUCKET === '') return () => objects.checkRoom();
  const reserveBytes = settings.STORAGE_RESERVE_MEGABYTES * MEGABYTE;
  const reserve = createReserve(reserveBytes, () => spaceOf(settings.DATA_DIR));
  return () => reserve.check();
}
