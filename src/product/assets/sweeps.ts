import type { SweepTask } from '../../platform/periodic-tasks.ts';
import type { AssetQuota } from './asset-quota.ts';
import { UNFINISHED_MS } from './limits.ts';
import type { Removal } from './removal.ts';
import type { AssetsStore } from './store.ts';
import type { Uploads } from './uploads/uploads.ts';

interface AssetSweepsOptions {
  store: AssetsStore;
  quota: AssetQuota;
  removal: Removal;
  uploads: Uploads;
  /**
   * The time at which stores that no other host shares were opened: an upload that began before it has lost its
   * process. Absent for shared stores, where an upload of another host may still be running, for at most UNFINISHED_MS.
   */
  storesOpenedAt?: Date | undefined;
}

const SWEEP_BATCH_SIZE = 100;

/** The sweeps of assets that expired or were left by dead processes. Each may run in several processes at once. */
export function createAssetSweeps(options: AssetSweepsOptions): SweepTask[] {
  const { store, quota, removal, uploads, storesOpenedAt } = options;
  /** An unfinished asset from before this instant has lost its process. */
  const before = (now: Date) =>
    new Date(Math.max(now.getTime() - UNFINISHED_MS, storesOpenedAt?.getTime() ?? 0));

  /** Removes outputs past their retention, failed assets, and reserved assets whose upload URL expired unused. */
  async function expired(now: Date): Promise<number> {
    return removal.removeAll(await store.expired(now, SWEEP_BATCH_SIZE));
  }

  /** Removes the objects and documents of unfinished uploads and unfinished deletions. */
  async function unfinished(now: Date): Promise<number> {
    const assets = await store.unfinished(before(now), SWEEP_BATCH_SIZE);
    await removal.finishAll(assets);
    return assets.length;
  }

  /**
   * Resolves the marks on the counters of accounts. Assets that are neither kept nor deleted are left to `unfinished`.
   */
  async function leftOverMarks(now: Date): Promise<number> {
    let cleared = 0;
    for (const { accountId, assetId } of await quota.leftOver(before(now))) {
      const asset = await store.findAny(accountId, assetId);
      if (asset !== null && asset.state !== 'kept') continue;
      await (asset === null ? quota.giveBack(accountId, assetId) : uploads.confirm(asset));
      cleared += 1;
    }
    return cleared;
  }

  return [
    { name: 'expired assets', sweep: expired },
    { name: 'unfinished assets', sweep: unfinished },
    { name: 'places of assets', sweep: leftOverMarks },
  ];
}
