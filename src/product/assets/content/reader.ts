import { ownedBytes, type StoredFile } from '../../../imaging/images/source.ts';
import { bodyTooLargeError } from '../../../platform/http/bodies/streamed-body.ts';
import { StoreUnavailableError } from '../../../platform/stores/documents/port.ts';
import type { ObjectStore, StoredObject } from '../../../platform/stores/objects/port.ts';
import { storageUnreadableError } from '../errors.ts';
import type { AssetRecordCache, DoneAsset } from '../records.ts';

/** An asset whose bytes can be read later, into memory of their own. */
interface AssetFile extends StoredFile {
  name: string | null;
  /** SHA-256 of the bytes, in hexadecimal. */
  digest: string;
  /** Null for one without an end. */
  expiresAt: string | null;
  read(): Promise<Uint8Array<ArrayBuffer>>;
}

/** Assets as workers read them. */
export class AssetReader {
  readonly #records: AssetRecordCache;
  readonly #objects: ObjectStore;
  readonly #limitBytes: number;

  /** @param limitBytes the size of the largest asset that may be read. */
  constructor(records: AssetRecordCache, objects: ObjectStore, limitBytes: number) {
    this.#records = records;
    this.#objects = objects;
    this.#limitBytes = limitBytes;
  }

  /**
   * Finds an asset. The `read` of the result reads its bytes later, and throws asset_not_found or provider_unavailable
   * with reason storage_read.
   * @param param the field of the call that names the asset. Absent: assetId, and `file` for an asset that is too
   *   large.
   * @throws ApiError asset_not_found, invalid_state, payload_too_large
   */
  readonly find = async (accountId: string, assetId: string, param?: string): Promise<AssetFile> => {
    const asset = await this.#records.find(accountId, assetId, param);
    const { image: facts, name, digest, expiresAt } = asset;
    if (facts.bytes > this.#limitBytes) throw bodyTooLargeError('file', this.#limitBytes, param);
    return {
      ...{ facts, name, digest, expiresAt },
      length: facts.bytes,
      read: async () => {
        // The asset may have just been deleted. The second look-up then throws asset_not_found.
        const bytes =
          (await this.#readBytes(asset)) ??
          (await this.#readBytes(await this.#records.findStored(accountId, assetId, param)));
        if (bytes === null) throw storageUnreadableError();
        return ownedBytes(bytes);
      },
    };
  };

  /** Whether an asset was found at most 20 s ago, and its deletion was not announced since. It reads nothing. */
  knows(accountId: string, assetId: string): boolean {
    return this.#records.knows(accountId, assetId);
  }

  /**
   * Reads the bytes of an asset into their own memory, and returns them with their media type. Throws as `find` and its
   * `read`.
   */
  readonly read = async (
    accountId: string,
    assetId: string,
  ): Promise<{ bytes: Uint8Array<ArrayBuffer>; declaredType: string }> => {
    const { facts, read } = await this.find(accountId, assetId);
    return { bytes: await read(), declaredType: facts.mimeType };
  };

  #readBytes({ objectKey }: DoneAsset): Promise<Uint8Array | null> {
    return this.#objects.read(objectKey, this.#limitBytes).catch(rethrowAsUnreadable);
  }
}

/**
 * Opens the bytes of an asset, or a range of them, as a stream.
 * @throws ApiError provider_unavailable with reason storage_read
 */
export async function openAssetContent(
  objects: ObjectStore,
  { objectKey }: Pick<DoneAsset, 'objectKey'>,
  range: { start: number; end: number } | null,
): Promise<StoredObject> {
  const object = await objects.get(objectKey, range ?? undefined).catch(rethrowAsUnreadable);
  if (object === null) throw storageUnreadableError();
  return object;
}

/** Converts a failure of the object store to an API error; any other error is passed on. */
export function rethrowAsUnreadable(cause: unknown): never {
  throw cause instanceof StoreUnavailableError ? storageUnreadableError(cause) : cause;
}
