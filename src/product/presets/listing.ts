import { dataOf, exportOf, type UsageOf, withUsage } from './answers.ts';
import { BUILT_INS } from './builtins.ts';
import type { Preset } from './preset.ts';
import type { PresetData, PresetListQuery } from './schema.ts';
import type { PresetsStore } from './store.ts';

/** Presets in memory at once: each may be 512 KB, and an account may have a thousand. */
const BATCH = 16;
/** With their versions each may be 25 MB. */
const BATCH_WITH_VERSIONS = 4;

/**
 * The built-ins, then the account's presets, most recently updated first. Which ones is settled at once, so that none
 * is missed that is saved while the list is taken; they are read in batches as they are taken.
 */
export async function listPresets(
  store: PresetsStore,
  accountId: string,
  { filter, includeVersions = false }: PresetListQuery,
  usageOf: UsageOf,
): Promise<AsyncGenerator<PresetData>> {
  const batch = includeVersions ? BATCH_WITH_VERSIONS : BATCH;
  const ids = filter === 'builtin' ? [] : await store.ids(accountId);

  async function* rows(): AsyncGenerator<PresetData> {
    if (filter !== 'user') yield* await rowsOf(BUILT_INS);
    for (let start = 0; start < ids.length; start += batch) {
      yield* await rowsOf(await store.findAll(accountId, ids.slice(start, start + batch)));
    }
  }

  async function rowsOf(presets: readonly Preset[]): Promise<PresetData[]> {
    const [usage, histories] = await Promise.all([
      usageOf(
        accountId,
        presets.map(({ _id }) => _id),
      ),
      includeVersions ? store.histories(accountId, presets) : undefined,
    ]);
    return presets.map((preset, index) => {
      const data = histories === undefined ? dataOf(preset) : exportOf(preset, histories[index] ?? []);
      return withUsage(data, usage);
    });
  }

  return rows();
}
