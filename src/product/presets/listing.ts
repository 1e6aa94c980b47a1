import { BUILT_INS } from './builtins.ts';
import type { Preset } from './preset.ts';
import { exportOf, presetDataOf, type UsageOf, withUsage } from './responses.ts';
import type { PresetData, PresetListQuery } from './schema.ts';
import type { PresetsStore } from './store.ts';

/** The presets of one batch: each may have 512 KB, and an account may have a thousand. */
const BATCH = 16;
/** The presets of one batch with their versions: each may have 25 MB. */
const BATCH_WITH_VERSIONS = 4;

/**
 * The built-ins, followed by the account's presets, most recently updated first. Their ids are read at the start, so
 * that a save during the listing hides no preset; the presets are read in batches.
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
    if (filter !== 'user') yield* await readRows(BUILT_INS);
    for (let start = 0; start < ids.length; start += batch) {
      yield* await readRows(await store.findAll(accountId, ids.slice(start, start + batch)));
    }
  }

  async function readRows(presets: readonly Preset[]): Promise<PresetData[]> {
    const [usage, histories] = await Promise.all([
      usageOf(
        accountId,
        presets.map(({ _id }) => _id),
      ),
      includeVersions ? store.histories(accountId, presets) : undefined,
    ]);
    return presets.map((preset, index) => {
      const data = histories === undefined ? presetDataOf(preset) : exportOf(preset, histories[index] ?? []);
      return withUsage(data, usage);
    });
  }

  return rows();
}
