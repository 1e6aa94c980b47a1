import { eachLimit } from '../../platform/queues/each-limit.ts';
import type { Objects } from '../../platform/stores/objects/port.ts';
import type { Log } from '../../platform/tracing/log.ts';
import type { AssetDocument } from './asset.ts';
import type { AssetQuota } from './asset-quota.ts';
import type { AssetRecords } from './records.ts';
import type { AssetsStore } from './store.ts';

interface RemovalOptions {
  store: AssetsStore;
  records: AssetRecords;
  quota: AssetQuota;
  objects: Objects;
  log: Log;
}

/** The number of concurrent deletions: one commit then covers several of them, and other calls are hardly slower. */
const REMOVED_AT_ONCE = 16;

/**
 * The deletion of assets. The document is hidden first: from then on the asset is deleted for every caller. Then the
 * object is deleted, and finally the document, which until then records the unfinished deletion. After a crash at any
 * line, the sweep finds that document and finishes the deletion. A visible asset always has its bytes.
 */
export interface Removal {
  /** Deletes an asset; false when there is none. */
  remove(accountId: string, assetId: string): Promise<boolean>;
  /** Deletes assets, several concurrently; returns how many, without those that were deleted meanwhile. */
  removeAll(assets: readonly AssetDocument[]): Promise<number>;
  /** Undoes an upload. An asset that has become visible meanwhile stays. */
  abandon(asset: AssetDocument): Promise<void>;
  /** Finishes the deletion of a hidden asset. */
  finish(asset: AssetDocument): Promise<void>;
  /** Finishes the deletion of hidden assets, several concurrently. */
  finishAll(assets: readonly AssetDocument[]): Promise<void>;
}

export function createRemoval({ store, records, quota, objects, log }: RemovalOptions): Removal {
  /** Each step may be repeated. */
  async function finish(asset: AssetDocument): Promise<void> {
    if (asset.state === 'leaving') await quota.announce(asset.accountId, asset._id);
    if (asset.objectKey !== null) await objects.delete(asset.objectKey);
    await store.erase(asset);
    await quota.giveBack(asset.accountId, asset._id);
  }

  /** A failure here is left to the sweep: for the caller, the asset is deleted already. */
  async function tryFinish(asset: AssetDocument): Promise<void> {
    await finish(asset).catch((error: unknown) =>
      log.warn({ err: error, assetId: asset._id }, 'An asset is left for the sweep to remove'),
    );
  }

  async function remove(accountId: string, assetId: string): Promise<boolean> {
    const hidden = await store.hide(accountId, assetId);
    if (hidden === null) return false;
    await records
      .ended(accountId, assetId)
      .catch((error: unknown) =>
        log.warn({ err: error, assetId }, 'Other processes were not notified that an asset is deleted'),
      );
    // A PUT may still be writing the object: the document stays until no PUT can be running any more.
    const mayBeWritten = hidden.status === 'PENDING' && hidden.objectKey !== null;
    if (!mayBeWritten) await tryFinish(hidden);
    return true;
  }

  return {
    remove,
    async removeAll(assets) {
      let removed = 0;
      await eachLimit(assets, REMOVED_AT_ONCE, async ({ accountId, _id }) => {
        if (await remove(accountId, _id)) removed += 1;
      });
      return removed;
    },
    async abandon({ accountId, _id }) {
      const abandoned = await store.abandon(accountId, _id, 'arriving').catch(() => null);
      if (abandoned !== null) await tryFinish(abandoned);
    },
    finish,
    finishAll(assets) {
      return eachLimit(assets, REMOVED_AT_ONCE, finish);
    },
  };
}
