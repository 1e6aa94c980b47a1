import { join } from 'node:path';
import { FileCache } from '../../platform/file-cache/file-cache.ts';
import { BucketStorage, DiskStorage } from '../../platform/file-cache/storage.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import {
  DiskReserve,
  MAX_RESERVED_DISK_SHARE,
  readDiskSpace,
} from '../../platform/stores/objects/reserve.ts';
import type { EventLog } from '../../platform/tracing/tracing.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';

/** The prefix of the keys of delivered pictures, if they are stored in a bucket. */
export const DELIVERED_KEY_PREFIX = 'delivery/';

/** The largest picture that is read from a bucket, in bytes. */
const MAX_READ_PICTURE_BYTES = 128 * MEGABYTE_BYTES;

export interface PictureCacheSettings {
  DATA_DIR: string;
  S3_BUCKET: string;
  STORAGE_RESERVE_MEGABYTES: number;
  DELIVERY_CACHE_MEGABYTES: number;
}

/**
 * Opens the cache of delivered pictures. They are stored in the bucket if the assets are, and otherwise on the disk of
 * this host.
 */
export function openPictureCache(
  settings: PictureCacheSettings,
  objects: ObjectStore,
  log: EventLog,
): FileCache {
  const { DATA_DIR, S3_BUCKET, STORAGE_RESERVE_MEGABYTES, DELIVERY_CACHE_MEGABYTES } = settings;
  const directory = join(DATA_DIR, 'delivery');
  const reserve = createPictureDiskReserve(STORAGE_RESERVE_MEGABYTES * MEGABYTE_BYTES, () =>
    readDiskSpace(directory),
  );
  const storage =
    S3_BUCKET === ''
      ? new DiskStorage(directory, reserve)
      : new BucketStorage({ objects, prefix: DELIVERED_KEY_PREFIX, maxFileBytes: MAX_READ_PICTURE_BYTES });
  return new FileCache({ storage, maxBytes: DELIVERY_CACHE_MEGABYTES * MEGABYTE_BYTES, log });
}

/**
 * The disk space that delivered pictures leave free: twice the space that uploads leave free. Pictures therefore never
 * use up the space of an upload that was accepted.
 */
export function createPictureDiskReserve(
  uploadReserveBytes: number,
  measure: ConstructorParameters<typeof DiskReserve>[1],
): DiskReserve {
  return new DiskReserve(2 * uploadReserveBytes, measure, 2 * MAX_RESERVED_DISK_SHARE);
}
