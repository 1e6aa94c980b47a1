import { ownedBytes } from '../../../imaging/images/source.ts';
import type { StoredFile } from '../../../imaging/images/stored-file.ts';
import { tooLarge } from '../../../platform/http/bodies/streamed-body.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import { storageUnreadable } from '../errors.ts';
import type { AssetRecords } from '../records.ts';
import { type DoneAsset, unreadable } from './reading.ts';

/** Assets as workers read them. */
export interface AssetReader {
  /**
   * Finds an asset. Its `read` reads the bytes later, and throws asset_not_found or provider_unavailable with reason
   * storage_read.
   * @throws ApiError asset_not_found, invalid_state, payload_too_large on `file`
   */
  find(
    accountId: string,
    assetId: string,
  ): Promise<StoredFile & { read(): Promise<Uint8Array<ArrayBuffer>> }>;
  /** The bytes of an asset, in their own memory, and their media type. Throws as `find` and its `read`. */
  read(accountId: string, assetId: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; declaredType: string }>;
}

/** @param limitBytes the size of the largest asset that may be read. */
export function createAssetReader(records: AssetRecords, objects: Objects, limitBytes: number): AssetReader {
  const readBytes = ({ objectKey }: DoneAsset) => objects.read(objectKey, limitBytes).catch(unreadable);

  async function find(accountId: string, assetId: string) {
    const asset = await records.find(accountId, assetId);
    const { image: facts } = asset;
    if (facts.bytes > limitBytes) throw tooLarge('file', limitBytes);
    return {
      facts,
      length: facts.bytes,
      async read() {
        // The asset may have been deleted a moment ago: the second look-up then throws asset_not_found.
        const bytes =
          (await readBytes(asset)) ?? (await readBytes(await records.findStored(accountId, assetId)));
        if (bytes === null) throw storageUnreadable();
        return ownedBytes(bytes);
      },
    };
  }

  return {
    find,
    async read(accountId, assetId) {
      const { facts, read } = await find(accountId, assetId);
      return { bytes: await read(), declaredType: facts.mimeType };
    },
  };
}
