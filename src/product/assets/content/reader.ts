import { ownedBytes } from '../../../imaging/pixels/owned.ts';
import { tooLarge } from '../../../platform/http/bodies/streamed-body.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import { storageUnreadable } from '../errors.ts';
import type { AssetRecords } from '../records.ts';
import { type DoneAsset, unreadable } from './reading.ts';

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
    // An asset that was deleted a moment ago has no bytes any more: the answer says so.
    const bytes = (await read(asset)) ?? (await read(await records.findAnew(accountId, assetId)));
    if (bytes === null) throw storageUnreadable();
    return { bytes: ownedBytes(bytes), declaredType: image.mimeType };
  };
}
