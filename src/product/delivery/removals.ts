import type { FileCache } from '../../platform/file-cache/file-cache.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { SweepTask } from '../../platform/periodic-tasks.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { HOUR_MS } from '../../platform/values/units.ts';
import { ACCOUNT_CHANGED_CHANNEL } from '../accounts/revocations.ts';
import type { AccountsStore } from '../accounts/store.ts';
import type { AssetsSlice } from '../assets/open.ts';
import type { PresetsSlice } from '../presets/open.ts';
import { presetReferenceOfTag } from '../presets/preset.ts';
import type { DeliveredPictures } from './pictures.ts';
import type { PictureRecipes } from './recipes.ts';
import { presetNamePrefix, presetTagOfName } from './resolver.ts';

interface RemovalsOptions {
  cache: Pick<FileCache, 'paths'>;
  /** Identifies the processes that share the cache: those of one host, or of all hosts. */
  scope: string;
  pictures: Pick<DeliveredPictures, 'deleteAll'>;
  recipes: Pick<PictureRecipes, 'forget'>;
  accounts: Pick<AccountsStore, 'findAccountStatus'>;
  assets: Pick<AssetsSlice, 'onDeleted' | 'findMissingAssets'>;
  presets: Pick<PresetsSlice, 'onRemoved' | 'find'>;
  coordination: Pick<Coordination, 'subscribe'>;
}

/**
 * Deletes the cached pictures of deleted accounts, assets and preset versions. Each deletion is announced to every
 * process. A sweep deletes the pictures that are left because a message was lost or no process of the host was running.
 */
export class CachedPictureRemovals {
  readonly #options: RemovalsOptions;
  #unsubscribe: ReadonlyArray<() => void> = [];
  readonly sweep: SweepTask;

  private constructor(options: RemovalsOptions) {
    this.#options = options;
    this.sweep = {
      name: `delivered pictures of ${options.scope}`,
      intervalMs: HOUR_MS,
      sweep: () => this.#removeLeftovers(),
    };
  }

  static async open(options: RemovalsOptions): Promise<CachedPictureRemovals> {
    const { pictures, recipes, assets, presets, coordination } = options;
    const removals = new CachedPictureRemovals(options);
    removals.#unsubscribe = [
      await assets.onDeleted((accountId, assetId) => pictures.deleteAll(`${accountId}/${assetId}`)),
      await presets.onRemoved((accountId, tags) => {
        recipes.forget(accountId);
        for (const tag of tags) void pictures.deleteAll(accountId, presetNamePrefix(tag));
      }),
      await coordination.subscribe(
        ACCOUNT_CHANGED_CHANNEL,
        (accountId) => void removals.#deleteIfAccountDeleted(accountId),
      ),
    ];
    return removals;
  }

  close(): void {
    for (const end of this.#unsubscribe) end();
  }

  /** Deletes the pictures of a deleted account. The pictures of a suspended account stay, because it may be resumed. */
  async #deleteIfAccountDeleted(accountId: string): Promise<void> {
    const standing = await this.#options.accounts.findAccountStatus(accountId).catch(() => undefined);
    if (standing === null) await this.#options.pictures.deleteAll(accountId);
  }

  async #removeLeftovers(): Promise<number> {
    const { cache, pictures, accounts, assets } = this.#options;
    const places = (await cache.paths()).map((path) => path.split('/'));
    for (const [accountId = '', owned] of Map.groupBy(places, ([owner]) => owner)) {
      if ((await accounts.findAccountStatus(accountId)) === null) {
        await pictures.deleteAll(accountId);
        continue;
      }
      const sources = new Set(owned.map(([, source = '']) => source));
      const assetIds = [...sources].filter((source) => source.startsWith('ast_'));
      for (const assetId of await assets.findMissingAssets(accountId, assetIds))
        await pictures.deleteAll(`${accountId}/${assetId}`);
      const tags = new Set(owned.flatMap(([, , name = '']) => presetTagOfName(name) ?? []));
      for (const tag of tags)
        if (await this.#wasVersionDeleted(accountId, tag))
          await pictures.deleteAll(accountId, presetNamePrefix(tag));
    }
    return 0;
  }

  /** Whether the preset version with this tag was deleted. */
  async #wasVersionDeleted(accountId: string, tag: string): Promise<boolean> {
    try {
      await this.#options.presets.find(accountId, presetReferenceOfTag(tag), 'preset');
      return false;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return true;
      throw error;
    }
  }
}
