import { addAbortSignal } from 'node:stream';
import { crc32 } from 'node:zlib';
import { StoreUnavailableError } from '../../../platform/stores/documents/port.ts';
import type { Objects, StoredObject } from '../../../platform/stores/objects/port.ts';
import type { AssetDocument } from '../asset.ts';
import { assetNotFound, storageUnreadable, withoutContent } from '../errors.ts';
import type { AssetsStore } from '../store.ts';

/** An asset whose bytes are stored. */
export interface DoneAsset extends AssetDocument {
  objectKey: string;
  digest: string;
  image: NonNullable<AssetDocument['image']>;
}

/**
 * Finds the asset, in any status.
 * @param param the field of the call that names it. Absent: assetId.
 * @throws ApiError asset_not_found
 */
export async function findAsset(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  param?: string,
): Promise<AssetDocument> {
  const asset = await store.find(accountId, assetId);
  if (asset === null) throw assetNotFound(assetId, param);
  return asset;
}

/**
 * Finds an asset whose bytes are stored.
 * @param param the field of the call that names it. Absent: assetId.
 * @throws ApiError asset_not_found; invalid_state while it is PENDING, and when it FAILED.
 */
export async function findDone(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  param?: string,
): Promise<DoneAsset> {
  const asset = await findAsset(store, accountId, assetId, param);
  if (!isDone(asset)) throw withoutContent(asset.status, param);
  return asset;
}

function isDone(asset: AssetDocument): asset is DoneAsset {
  const { status, objectKey, digest, image } = asset;
  return status === 'DONE' && objectKey !== null && digest !== null && image !== null;
}

/**
 * Opens the bytes of an asset, or a range of them, as a stream.
 * @throws ApiError provider_unavailable with reason storage_read
 */
export async function openContent(
  objects: Objects,
  { objectKey }: Pick<DoneAsset, 'objectKey'>,
  range: { start: number; end: number } | null,
): Promise<StoredObject> {
  const object = await objects.get(objectKey, range ?? undefined).catch(unreadable);
  if (object === null) throw storageUnreadable();
  return object;
}

/** Maps a failure of the object store to a refusal; any other error is passed on. */
export function unreadable(cause: unknown): never {
  throw cause instanceof StoreUnavailableError ? storageUnreadable(cause) : cause;
}

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
