import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { type DoneAsset, findDone } from './content/reading.ts';
import type { AssetsStore } from './store.ts';

const GONE = 'assets/gone';
const MAX_RECORDS = 10_000;
/** Lifetime of a cached record, for the case that the message about the end of its asset was lost. */
const KEEP_MS = 30_000;

/**
 * A cache of the records of recently read assets. A stored asset changes only by its deletion, which is announced to
 * every process. A reader that finds no bytes for a record refreshes it.
 */
export interface AssetRecords {
  /** @throws ApiError asset_not_found, invalid_state */
  find(accountId: string, assetId: string): Promise<DoneAsset>;
  /** Reads the store and replaces the cached record. @throws as `find` */
  findStored(accountId: string, assetId: string): Promise<DoneAsset>;
  /** Announces to every process that an asset was deleted. */
  ended(accountId: string, assetId: string): Promise<void>;
  close(): void;
}

export async function openAssetRecords(
  store: AssetsStore,
  coordination: Coordination,
): Promise<AssetRecords> {
  const records = new LRUCache<string, DoneAsset>({ max: MAX_RECORDS, ttl: KEEP_MS });
  const close = await coordination.subscribe(GONE, (key) => records.delete(key));
  const keyOf = (accountId: string, assetId: string) => `${accountId}/${assetId}`;

  async function findStored(accountId: string, assetId: string): Promise<DoneAsset> {
    const key = keyOf(accountId, assetId);
    records.delete(key);
    const asset = await findDone(store, accountId, assetId);
    records.set(key, asset);
    return asset;
  }

  return {
    findStored,
    async find(accountId, assetId) {
      return records.get(keyOf(accountId, assetId)) ?? findStored(accountId, assetId);
    },
    async ended(accountId, assetId) {
      const key = keyOf(accountId, assetId);
      records.delete(key);
      await coordination.publish(GONE, key);
    },
    close,
  };
}
