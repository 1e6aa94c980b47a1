import { forEachWithLimit } from '../../platform/queues.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import type { EventLog } from '../../platform/tracing/tracing.ts';
import type { AssetDocument } from './asset.ts';
import type { AssetRecordCache } from './content/reader.ts';
import type { AssetQuota } from './quota.ts';
import type { AssetsStore } from './store.ts';

interface RemovalOptions {
  store: AssetsStore;
  records: AssetRecordCache;
  quota: AssetQuota;
  objects: ObjectStore;
  log: EventLog;
}

/**
 * The number of concurrent deletions: enough for one commit of the store to cover several deletions, and few enough to
 * hardly slow down other calls.
 */
const MAX_CONCURRENT_DELETIONS = 16;

/**
 * Deletes assets in three steps: the document is hidden, the object is deleted, and the document is deleted. For
 * callers, the asset is gone after the first step. If the process crashes, the sweep finds the hidden document and
 * finishes the deletion. Visible assets always have their bytes.
 */
export class AssetRemoval {
  readonly #options: RemovalOptions;

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** Deletes an asset; false when there is none. */
  async remove(accountId: string, assetId: string): Promise<boolean> {
    const hidden = await this.#options.store.hide(accountId, assetId);
    if (hidden === null) return false;
    await this.#options.records
      .announceDeletion(accountId, assetId)
      .catch((error: unknown) =>
        this.#options.log.warn(
          { err: error, assetId },
          'Other processes were not notified that an asset is deleted',
        ),
      );
    // The object is not deleted yet, because a PUT may still be writing it. The sweep finishes the deletion.
    const mayBeWritten = hidden.status === 'PENDING' && hidden.objectKey !== null;
    if (!mayBeWritten) await this.#tryFinish(hidden);
    return true;
  }

  /**
   * Deletes assets, several at a time. Returns how many were deleted here; those that another caller deleted first do
   * not count.
   */
  async removeAll(assets: readonly AssetDocument[]): Promise<number> {
    let removed = 0;
    await forEachWithLimit(assets, MAX_CONCURRENT_DELETIONS, async ({ accountId, _id }) => {
      if (await this.remove(accountId, _id)) removed += 1;
    });
    return removed;
  }

  /** Undoes an upload, unless its asset has become visible. */
  async abandon({ accountId, _id }: AssetDocument): Promise<void> {
    const abandoned = await this.#options.store.abandon(accountId, _id, 'arriving').catch(() => null);
    if (abandoned !== null) await this.#tryFinish(abandoned);
  }

  /** Finishes the deletion of a hidden asset. Each step may be repeated. */
  async finish(asset: AssetDocument): Promise<void> {
    if (asset.state === 'leaving') await this.#options.quota.markRemoval(asset.accountId, asset._id);
    if (asset.objectKey !== null) await this.#options.objects.delete(asset.objectKey);
    await this.#options.store.erase(asset);
    await this.#options.quota.giveBack(asset.accountId, asset._id);
  }

  /** Finishes the deletion of hidden assets, several concurrently. */
  finishAll(assets: readonly AssetDocument[]): Promise<void> {
    return forEachWithLimit(assets, MAX_CONCURRENT_DELETIONS, (asset) => this.finish(asset));
  }

  /**
   * Tries to finish a deletion. A failure is left to the sweep, because the asset is already deleted for its callers.
   */
  async #tryFinish(asset: AssetDocument): Promise<void> {
    await this.finish(asset).catch((error: unknown) =>
      this.#options.log.warn({ err: error, assetId: asset._id }, 'An asset is left for the sweep to remove'),
    );
  }
}
