import type { SweepTask } from '../../platform/sweeping/sweeper.ts';
import { UNFINISHED_MS } from './limits.ts';
import type { AssetQuota } from './quota/asset-quota.ts';
import type { Removal } from './removal.ts';
import type { AssetsStore } from './store.ts';
import type { Arrivals } from './uploads/uploads.ts';

interface AssetSweepsOptions {
  store: AssetsStore;
  quota: AssetQuota;
  removal: Removal;
  arrivals: Arrivals;
  /**
   * When the stores were opened that no other host shares: what was on its way before then has died with its process.
   * Absent: another host may still be at it, for at most UNFINISHED_MS.
   */
  storesOpenedAt?: Date | undefined;
}

const MOST_AT_A_TIME = 100;

/** Sweeps for what time and dead processes leave of assets. Each may run in any process, twice and at once. */
export function createAssetSweeps(options: AssetSweepsOptions): SweepTask[] {
  const { store, quota, removal, arrivals, storesOpenedAt } = options;
  /** An older asset that is not done has lost its process. */
  const before = (now: Date) =>
    new Date(Math.max(now.getTime() - UNFINISHED_MS, storesOpenedAt?.getTime() ?? 0));

  /** Outputs past their retention, failed assets, and reserved ones that nobody put. */
  async function expired(now: Date): Promise<number> {
    const assets = await store.expired(now, MOST_AT_A_TIME);
    await removal.removeAll(assets);
    return assets.length;
  }

  /** Objects and documents of uploads that never arrived, and of deletions that were not finished. */
  async function unfinished(now: Date): Promise<number> {
    const assets = await store.unfinished(before(now), MOST_AT_A_TIME);
    await removal.finishAll(assets);
    return assets.length;
  }

  /** Marks on the count of an account: the asset of one stays, or it is gone. Those between are removed above. */
  async function marked(now: Date): Promise<number> {
    let cleared = 0;
    for (const { accountId, assetId } of await quota.leftOver(before(now))) {
      const asset = await store.findAny(accountId, assetId);
      if (asset !== null && asset.state !== 'kept') continue;
      await (asset === null ? quota.leave(accountId, assetId) : arrivals.settle(asset));
      cleared += 1;
    }
    return cleared;
  }

  return [
    { name: 'expired assets', sweep: expired },
    { name: 'unfinished assets', sweep: unfinished },
    { name: 'places of assets', sweep: marked },
  ];
}
