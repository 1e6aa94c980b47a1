import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { AssetDocument } from './asset.ts';
import { assetNotFoundError, assetWithoutContentError } from './errors.ts';
import type { AssetsStore } from './store.ts';

const GONE = 'assets/gone';
const MAX_RECORDS = 10_000;
/** Lifetime of a cached record, in case the message about the deletion of its asset was lost. */
const KEEP_MS = 20_000;

/** An asset whose bytes are stored. */
export interface DoneAsset extends AssetDocument {
  objectKey: string;
  digest: string;
  image: NonNullable<AssetDocument['image']>;
}

/**
 * A cache of recently read asset records. A stored asset changes only by its deletion, which is announced to every
 * process. A reader that finds no bytes for a record refreshes it.
 */
export class AssetRecordCache {
  readonly #store: AssetsStore;
  readonly #coordination: Coordination;
  readonly #records: LRUCache<string, DoneAsset>;
  #unsubscribe: () => void = () => {};

  private constructor(store: AssetsStore, coordination: Coordination, now: () => Date) {
    this.#store = store;
    this.#coordination = coordination;
    const perf = { now: () => now().getTime() };
    this.#records = new LRUCache({ max: MAX_RECORDS, ttl: KEEP_MS, ttlResolution: 0, perf });
  }

  static async open(
    store: AssetsStore,
    coordination: Coordination,
    now: () => Date,
  ): Promise<AssetRecordCache> {
    const records = new AssetRecordCache(store, coordination, now);
    records.#unsubscribe = await coordination.subscribe(GONE, (key) => records.#records.delete(key));
    return records;
  }

  /**
   * @param param the field of the call that names the asset. Absent: assetId.
   * @throws ApiError asset_not_found, invalid_state
   */
  async find(accountId: string, assetId: string, param?: string): Promise<DoneAsset> {
    return this.#records.get(keyOf(accountId, assetId)) ?? this.findStored(accountId, assetId, param);
  }

  /** Whether an asset existed when it was last read, at most 20 s ago, and its deletion was not announced since. */
  knows(accountId: string, assetId: string): boolean {
    return this.#records.has(keyOf(accountId, assetId));
  }

  /** Reads the store and replaces the cached record. @throws as `find` */
  async findStored(accountId: string, assetId: string, param?: string): Promise<DoneAsset> {
    const key = keyOf(accountId, assetId);
    this.#records.delete(key);
    const asset = await findAssetWithContent(this.#store, accountId, assetId, param);
    this.#records.set(key, asset);
    return asset;
  }

  /** Announces to every process that an asset was deleted. */
  async ended(accountId: string, assetId: string): Promise<void> {
    const key = keyOf(accountId, assetId);
    this.#records.delete(key);
    await this.#coordination.publish(GONE, key);
  }

  /**
   * Calls a listener whenever any process has deleted an asset.
   * @returns a function that removes the listener.
   */
  whenEnded(listener: (accountId: string, assetId: string) => void): Promise<() => void> {
    return this.#coordination.subscribe(GONE, (key) => {
      const [accountId = '', assetId = ''] = key.split('/');
      listener(accountId, assetId);
    });
  }

  close(): void {
    this.#unsubscribe();
  }
}

function keyOf(accountId: string, assetId: string): string {
  return `${accountId}/${assetId}`;
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
  if (asset === null) throw assetNotFoundError(assetId, param);
  return asset;
}

/**
 * Finds an asset whose bytes are stored.
 * @param param the field of the call that names it. Absent: assetId.
 * @throws ApiError asset_not_found; invalid_state while it is PENDING, and when it FAILED.
 */
export async function findAssetWithContent(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  param?: string,
): Promise<DoneAsset> {
  const asset = await findAsset(store, accountId, assetId, param);
  if (!isDone(asset)) throw assetWithoutContentError(asset.status, param);
  return asset;
}

function isDone(asset: AssetDocument): asset is DoneAsset {
  const { status, objectKey, digest, image } = asset;
  return status === 'DONE' && objectKey !== null && digest !== null && image !== null;
}
