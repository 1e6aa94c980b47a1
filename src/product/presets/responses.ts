import { ApiError } from '../../platform/http/errors/errors.ts';
import { isBuiltInReference } from '../../platform/ids/slugs.ts';
import { type StepWarning, stepWarningsOf } from '../catalogue/checks/warnings.ts';
import { compileSteps } from '../catalogue/plan/compile.ts';
import { sentSteps } from '../catalogue/plan/sent-step.ts';
import type { ModelsFile } from '../models/models.ts';
import type { Preset, PresetVersion } from './preset.ts';
import type { PresetData, PresetUsage } from './schema.ts';

/** Returns the number of runs of each preset. A preset that is missing never ran. */
export type ReadPresetUsage = (
  accountId: string,
  presetIds: readonly string[],
) => Promise<ReadonlyMap<string, PresetUsage>>;

const NEVER_RAN: PresetUsage = { runs: 0 };

/** A preset as the API shows it. */
export function presetDataOf(preset: Preset): PresetData {
  const { _id: id, superseded, versionSavedAt: _, ...rest } = preset;
  return { id, builtIn: isBuiltInReference(id), ...rest, versionCount: superseded.length + 1 };
}

/** An exported preset, with its earlier versions. */
export function presetExportOf(preset: Preset, versions: PresetVersion[]): PresetData {
  return { ...presetDataOf(preset), versions };
}

/** An earlier version as the API shows it, under the current name of the preset. */
export function earlierVersionDataOf(
  { widths: _, fallback: __, ...preset }: Preset,
  version: PresetVersion,
): PresetData {
  return presetDataOf({ ...preset, ...version });
}

/** A preset in the response to a write, with warnings. */
export function savedPresetDataOf(preset: Preset, versions: PresetVersion[], models: ModelsFile): PresetData {
  return { ...presetExportOf(preset, versions), warnings: warningsAbout(preset, models) };
}

/**
 * The warnings about a preset's steps. A renamed preset may have steps that are no longer accepted, because their model
 * is not offered any more; it has no warnings then.
 */
function warningsAbout({ steps }: Preset, models: ModelsFile): StepWarning[] {
  try {
    return stepWarningsOf(compileSteps(sentSteps(steps), models));
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** Adds the fields that only reads return. */
export function withPresetUsage(data: PresetData, usage: ReadonlyMap<string, PresetUsage>): PresetData {
  return { ...data, usage: usage.get(data.id) ?? NEVER_RAN };
}
