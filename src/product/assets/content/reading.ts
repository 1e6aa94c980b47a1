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
