import { LRUCache } from 'lru-cache';
import { ApiError, invalidParam } from '../../platform/http/errors/errors.ts';
import type { CompiledStep } from '../catalogue/plan/compiled-step.ts';
import { type OnePass, onePassOf } from '../catalogue/plan/one-pass.ts';
import type { PresetStep } from '../catalogue/plan/step.ts';
import { compileSteps } from '../catalogue/plan/steps.ts';
import type { Models } from '../models/models.ts';
import { findPreset } from './reading.ts';
import type { PresetsStore } from './store.ts';

/** The parameter in which a transform names its preset. */
const PARAM = 'preset';

/** The most compiled versions that a process caches, of a few kilobytes each. */
const KEPT_PASSES = 1_000;

/** The single pass of a preset that runs while the caller waits, and the warnings about its steps. */
type PresetRun = Pick<OnePass, 'pass' | 'warnings'>;

export type PresetPass = (accountId: string, reference: string) => Promise<PresetRun>;

/**
 * Compiles presets to passes for POST /images/transform. The pass throws ApiError invalid_param on preset (a malformed
 * version; an AI step and with it several segments; a step that reads a second asset), or preset_not_found.
 */
export function createPresetPass(store: PresetsStore, models: Models): PresetPass {
  /** A version never changes, so it is compiled once. A refused version is compiled each time. */
  const passes = new LRUCache<string, PresetRun>({ max: KEPT_PASSES });
  return async (accountId, reference) => {
    const { preset, version } = await findPreset(store, accountId, reference, PARAM);
    const key = `${preset._id}@${version.version}`;
    const kept = passes.get(key);
    if (kept !== undefined) return kept;
    const run = checkPass(version.steps, models);
    passes.set(key, run);
    return run;
  };
}

function checkPass(steps: readonly PresetStep[], models: Models): PresetRun {
  const run = onePassOf(compiled(steps, models));
  if (run.obstacle === undefined) return { pass: run.pass, warnings: run.warnings };
  const message = `The preset has a step that ${run.obstacle.does}, so it runs only as a job: send it to POST /api/v1/jobs.`;
  throw invalidParam(PARAM, message);
}

/** Saved steps are checked again, because an earlier release may have checked them by other contracts. */
function compiled(steps: readonly PresetStep[], models: Models): CompiledStep[] {
  try {
    return compileSteps(steps, models);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const message = `The preset has a step that is no longer accepted, save it again: ${error.message}`;
    throw invalidParam(PARAM, message, { step: error.param });
  }
}
