import { ApiError } from '../http/errors.ts';
import { tooLarge } from '../http/streamed-body.ts';
import { ownedBytes } from '../pixels/owned.ts';
import type { Objects, StoredObject } from '../stores/objects/port.ts';
import type { AssetDocument } from './asset.ts';
import { assetNotFound, storageUnreadable, withoutContent } from './errors.ts';
import type { AssetRecords } from './records.ts';
import type { AssetsStore } from './store.ts';

/** An asset that has its bytes. */
export interface DoneAsset extends AssetDocument {
  objectKey: string;
  digest: string;
  image: NonNullable<AssetDocument['image']>;
}

/**
 * The asset, whatever its status.
 * @throws ApiError asset_not_found
 */
export async function findAsset(
  store: AssetsStore,
  accountId: string,
  assetId: string,
): Promise<AssetDocument> {
  const asset = await store.find(accountId, assetId);
  if (asset === null) throw assetNotFound();
  return asset;
}

/**
 * An asset that has its bytes.
 * @throws ApiError asset_not_found; invalid_state while it is PENDING, and when it FAILED.
 */
export async function findDone(store: AssetsStore, accountId: string, assetId: string): Promise<DoneAsset> {
  const asset = await findAsset(store, accountId, assetId);
  if (!isDone(asset)) throw withoutContent(asset.status);
  return asset;
}

function isDone(asset: AssetDocument): asset is DoneAsset {
  const { status, objectKey, digest, image } = asset;
  return status === 'DONE' && objectKey !== null && digest !== null && image !== null;
}

/**
 * An asset's bytes as a stream, all of them or a range.
 * @throws ApiError provider_unavailable with reason storage_read
 */
export async function openContent(
  objects: Objects,
  { objectKey }: DoneAsset,
  range: { start: number; end: number } | null,
): Promise<StoredObject> {
  const object = await objects.get(objectKey, range ?? undefined).catch(unreadable);
  if (object === null) throw storageUnreadable();
  return object;
}

/** Reads an asset whole, for a worker. */
export function createAssetReader(records: AssetRecords, objects: Objects, limitBytes: number) {
  const read = ({ objectKey }: DoneAsset) => objects.read(objectKey, limitBytes).catch(unreadable);

  /**
   * @returns the bytes, which own their memory, and what they are.
   * @throws ApiError asset_not_found, invalid_state, payload_too_large on `file`; provider_unavailable with reason
   *   storage_read.
   */
  return async (accountId: string, assetId: string) => {
    const asset = await records.find(accountId, assetId);
    const { image } = asset;
    if (image.bytes > limitBytes) throw tooLarge('file', limitBytes);
    // An asset that was deleted a moment ago has no bytes any more, and is told as what it is.
    const bytes = (await read(asset)) ?? (await read(await records.findAnew(accountId, assetId)));
    if (bytes === null) throw storageUnreadable();
    return { bytes: ownedBytes(bytes), declaredType: image.mimeType };
  };
}

function unreadable(cause: unknown): never {
  throw cause instanceof ApiError ? cause : storageUnreadable(cause);
}
