import type { LRUCache } from 'lru-cache';
import type { StoredFile } from '../../../imaging/images/image-call.ts';
import { ownedBytes } from '../../../imaging/images/source.ts';
import { bodyTooLargeError } from '../../../platform/http/bodies/streamed-body.ts';
import type { PictureSize } from '../../../platform/http/errors/corrections.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import { StoreUnavailableError } from '../../../platform/stores/documents/port.ts';
import type { ObjectStore, StoredObject } from '../../../platform/stores/objects/port.ts';
import { createExpiringCache } from '../../../platform/values/expiring-cache.ts';
import type { AssetDocument } from '../asset.ts';
import { assetNotFoundError, assetWithoutContentError, storageUnreadableError } from '../errors.ts';
import type { AssetsStore } from '../store.ts';

/** An asset whose bytes can be read. Each read returns its own copy of them. */
interface AssetFile extends StoredFile {
  name: string | null;
  /** SHA-256 of the bytes, in hexadecimal. */
  digest: string;
  /** When the asset expires; null for an asset without an expiry. */
  expiresAt: string | null;
  read(): Promise<Uint8Array<ArrayBuffer>>;
}

/** Reads assets for the work of calls and jobs. */
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
   * @param param the field of the call that contains the asset id. Default: `assetId`; an error for an asset that is
   * too large names `file` by default.
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
        // The asset may just have been deleted. If it was, the second look-up throws asset_not_found.
        const bytes =
          (await this.#readBytes(asset)) ??
          (await this.#readBytes(await this.#records.findStored(accountId, assetId, param)));
        if (bytes === null) throw storageUnreadableError();
        return ownedBytes(bytes);
      },
    };
  };

  /**
   * Whether the record of an asset is cached: it was found within the last 20 s, and no deletion was announced since.
   * No store is queried.
   */
  isCached(accountId: string, assetId: string): boolean {
    return this.#records.isCached(accountId, assetId);
  }

  /**
   * Reads the bytes of an asset into memory that only the caller uses.
   * @throws the errors of `find`, and of the `read` of its result.
   */
  async read(accountId: string, assetId: string): Promise<{ bytes: Uint8Array<ArrayBuffer> }> {
    return { bytes: await (await this.find(accountId, assetId)).read() };
  }

  /**
   * The size of the picture, if a call has exactly one asset. Null for several assets, and for an id that is not an
   * asset of the account.
   */
  async findSizeOfOnlyAsset(
    accountId: string,
    [assetId, ...others]: readonly unknown[],
  ): Promise<PictureSize | null> {
    if (typeof assetId !== 'string' || others.length > 0) return null;
    try {
      const { width, height } = (await this.find(accountId, assetId, 'assetId')).facts;
      return { width, height };
    } catch (error) {
      if (error instanceof ApiError) return null;
      throw error;
    }
  }

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

function rethrowAsUnreadable(cause: unknown): never {
  throw cause instanceof StoreUnavailableError ? storageUnreadableError(cause) : cause;
}

const ASSET_DELETED_CHANNEL = 'assets/gone';
const MAX_CACHED_RECORDS = 10_000;
/**
 * The lifetime of a cached record. It limits how long a deleted asset is found if the message about its deletion was
 * lost.
 */
const CACHED_RECORD_TTL_MS = 20_000;

/** An asset whose bytes are stored. */
interface DoneAsset extends AssetDocument {
  objectKey: string;
  digest: string;
  image: NonNullable<AssetDocument['image']>;
}

/**
 * A cache of recently read asset records. A stored asset never changes until it is deleted, and a message about the
 * deletion reaches every process. If the bytes of a cached record are missing, the record is read again.
 */
export class AssetRecordCache {
  readonly #store: AssetsStore;
  readonly #coordination: Coordination;
  readonly #records: LRUCache<string, DoneAsset>;
  #unsubscribe: () => void = () => {};

  private constructor(store: AssetsStore, coordination: Coordination, now: () => Date) {
    this.#store = store;
    this.#coordination = coordination;
    this.#records = createExpiringCache(MAX_CACHED_RECORDS, CACHED_RECORD_TTL_MS, () => now().getTime());
  }

  static async open(
    store: AssetsStore,
    coordination: Coordination,
    now: () => Date,
  ): Promise<AssetRecordCache> {
    const records = new AssetRecordCache(store, coordination, now);
    records.#unsubscribe = await coordination.subscribe(ASSET_DELETED_CHANNEL, (key) =>
      records.#records.delete(key),
    );
    return records;
  }

  /**
   * Finds an asset with stored bytes, in the cache or else in the store.
   * @param param the field of the call that contains the asset id. Default: `assetId`.
   * @throws ApiError asset_not_found, invalid_state
   */
  async find(accountId: string, assetId: string, param?: string): Promise<DoneAsset> {
    return this.#records.get(recordKeyOf(accountId, assetId)) ?? this.findStored(accountId, assetId, param);
  }

  /** Whether an asset was found within the last 20 s and its deletion was not announced since. */
  isCached(accountId: string, assetId: string): boolean {
    return this.#records.has(recordKeyOf(accountId, assetId));
  }

  /**
   * Finds an asset in the store and replaces its cached record.
   * @throws the errors of `find`.
   */
  async findStored(accountId: string, assetId: string, param?: string): Promise<DoneAsset> {
    const key = recordKeyOf(accountId, assetId);
    this.#records.delete(key);
    const asset = await findAssetWithContent(this.#store, accountId, assetId, param);
    this.#records.set(key, asset);
    return asset;
  }

  /** Announces to every process that an asset was deleted. */
  async announceDeletion(accountId: string, assetId: string): Promise<void> {
    const key = recordKeyOf(accountId, assetId);
    this.#records.delete(key);
    await this.#coordination.publish(ASSET_DELETED_CHANNEL, key);
  }

  /**
   * Calls a listener whenever any process has deleted an asset.
   * @returns a function that removes the listener.
   */
  onDeleted(listener: (accountId: string, assetId: string) => void): Promise<() => void> {
    return this.#coordination.subscribe(ASSET_DELETED_CHANNEL, (key) => {
      const [accountId = '', assetId = ''] = key.split('/');
      listener(accountId, assetId);
    });
  }

  close(): void {
    this.#unsubscribe();
  }
}

function recordKeyOf(accountId: string, assetId: string): string {
  return `${accountId}/${assetId}`;
}

/**
 * Finds the asset, in any status.
 * @param param the field of the call that contains the asset id. Default: `assetId`.
 * @throws ApiError asset_not_found
 */
export async function findAsset(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  param?: string,
): Promise<AssetDocument> {
  const asset = await store.find(accountId, assetId);
  if (asset === null) throw assetNotFoundError(assetId, param);
  return asset;
}

/**
 * Finds an asset whose bytes are stored.
 * @param param the field of the call that contains the asset id. Default: `assetId`.
 * @throws ApiError asset_not_found; invalid_state while the asset is PENDING, and when it FAILED.
 */
export async function findAssetWithContent(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  param?: string,
): Promise<DoneAsset> {
  const asset = await findAsset(store, accountId, assetId, param);
  if (!hasContent(asset)) throw assetWithoutContentError(asset.status, param);
  return asset;
}

function hasContent(asset: AssetDocument): asset is DoneAsset {
  const { status, objectKey, digest, image } = asset;
  return status === 'DONE' && objectKey !== null && digest !== null && image !== null;
}
