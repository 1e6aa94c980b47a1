import { LRUCache } from 'lru-cache';
import type { ImagePass } from '../../../workers/protocol.ts';
import { type StepWarning, stepWarningsOf } from '../catalogue/checks/warnings.ts';
import { compilePreset } from '../catalogue/plan/compile.ts';
import type { ModelsFile } from '../models/models.ts';
import { findPreset } from './reading.ts';
import type { PresetsStore } from './store.ts';

/** The parameter of a transform that names its preset. */
const PARAM = 'preset';

/** The most compiled versions that a process caches, of a few kilobytes each. */
const KEPT_PASSES = 1_000;

/** The single pass of a preset that can run while the caller waits, and the warnings about its steps. */
interface PresetRun {
  pass: ImagePass;
  warnings: StepWarning[];
}

export type FindPresetPass = (accountId: string, reference: string) => Promise<PresetRun>;

/**
 * Compiles presets to passes for POST /images/transform. The pass throws ApiError invalid_param on preset (a malformed
 * version; an AI step and with it several segments; a step that reads a second asset), or preset_not_found.
 */
export function createPresetPassFinder(store: PresetsStore, models: ModelsFile): FindPresetPass {
  /** Compiled passes. A version never changes, so it is compiled only once. A refused version is compiled each time. */
  const passes = new LRUCache<string, PresetRun>({ max: KEPT_PASSES });
  return async (accountId, reference) => {
    const { preset, version } = await findPreset(store, accountId, reference, PARAM);
    const key = `${preset._id}@${version.version}`;
    const kept = passes.get(key);
    if (kept !== undefined) return kept;
    const compiled = compilePreset(version.steps, PARAM, models);
    const run = { pass: compiled.pass, warnings: stepWarningsOf([compiled]) };
    passes.set(key, run);
    return run;
  };
}
