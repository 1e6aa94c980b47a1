import { eachLimit } from '../../platform/fairness/each-limit.ts';
import type { Objects } from '../../platform/stores/objects/port.ts';
import type { Log } from '../../platform/tracing/log.ts';
import type { AssetDocument } from './asset.ts';
import type { AssetQuota } from './quota/asset-quota.ts';
import type { AssetRecords } from './records.ts';
import type { AssetsStore } from './store.ts';

interface RemovalOptions {
  store: AssetsStore;
  records: AssetRecords;
  quota: AssetQuota;
  objects: Objects;
  log: Log;
}

/** Enough for a commit of the documents to take several of them; a client's own calls are hardly slower meanwhile. */
const REMOVED_AT_ONCE = 16;

/**
 * How assets go. The document is hidden first: from there on the asset is deleted, whatever happens. Then the object
 * goes, and only then the document, which until then is the note of what is still to be done. A crash at any line
 * leaves such a note, and the sweep takes it up; an asset that is seen always has its bytes.
 */
export interface Removal {
  /** Deletes an asset; false when there is none. */
  remove(accountId: string, assetId: string): Promise<boolean>;
  /** Deletes these assets, several at a time. */
  removeAll(assets: readonly AssetDocument[]): Promise<void>;
  /** Undoes an upload. One that has arrived after all stays. */
  abandon(asset: AssetDocument): Promise<void>;
  /** Takes the last steps of one that is hidden. */
  finish(asset: AssetDocument): Promise<void>;
  /** The same for many, several at a time. */
  finishAll(assets: readonly AssetDocument[]): Promise<void>;
}

export function createRemoval({ store, records, quota, objects, log }: RemovalOptions): Removal {
  /** Each step may be done twice. */
  async function finish(asset: AssetDocument): Promise<void> {
    if (asset.state === 'leaving') await quota.leaving(asset.accountId, asset._id);
    if (asset.objectKey !== null) await objects.delete(asset.objectKey);
    await store.erase(asset);
    await quota.leave(asset.accountId, asset._id);
  }

  /** A failure here is left to the sweep: the caller's asset is gone either way. */
  async function finishOrLeave(asset: AssetDocument): Promise<void> {
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
        log.warn({ err: error, assetId }, 'Other processes did not hear that an asset is gone'),
      );
    // Under a claimed PUT bytes may still be coming: the note stays until they are surely there.
    const bytesMayCome = hidden.status === 'PENDING' && hidden.objectKey !== null;
    if (!bytesMayCome) await finishOrLeave(hidden);
    return true;
  }

  return {
    remove,
    removeAll(assets) {
      return eachLimit(assets, REMOVED_AT_ONCE, ({ accountId, _id }) => remove(accountId, _id));
    },
    async abandon(asset) {
      const givenUp = await store.giveUp(asset).catch(() => null);
      if (givenUp !== null) await finishOrLeave(givenUp);
    },
    finish,
    finishAll(assets) {
      return eachLimit(assets, REMOVED_AT_ONCE, finish);
    },
  };
}
