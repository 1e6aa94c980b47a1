import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { PresetStep, PromptSubject } from '../catalogue/plan/step.ts';
import type { NewPreset } from './schema.ts';

/** The content of one version of a preset. A version never changes. */
export interface PresetContent {
  steps: PresetStep[];
  subjects: PromptSubject[];
  /** The widths that signed addresses may contain, ascending; absent if the preset declares none. */
  widths?: number[];
  /** The picture that is sent for signed addresses while their source is unreachable. Absent: an error is sent. */
  fallback?: NonNullable<NewPreset['fallback']>;
}

/** A preset with its current version. Instants are in ISO 8601. */
export interface Preset extends PresetContent {
  _id: string;
  slug: string;
  name: string;
  description: string;
  version: number;
  /** When the current version was saved. A rename changes only updatedAt. */
  versionSavedAt: string;
  /** The numbers of the stored earlier versions, oldest first. */
  superseded: number[];
  createdAt: string;
  updatedAt: string;
}

/** A version of a preset, current or earlier, with its number. */
export interface PresetVersion extends PresetContent {
  version: number;
  /** When this version was saved. */
  updatedAt: string;
}

/** The current version of a preset, in the same form as earlier versions. */
export function currentPresetVersion(preset: Preset): PresetVersion {
  const { version, steps, subjects, widths, fallback, versionSavedAt } = preset;
  return {
    version,
    steps,
    subjects,
    ...withoutAbsentFields({ widths, fallback }),
    updatedAt: versionSavedAt,
  };
}

/**
 * The tag that caches store with the pictures of a preset version. When the version is deleted, the caches must drop
 * all pictures with this tag.
 */
export function presetCacheTagOf(presetId: string, version: number): string {
  return `preset-${presetId}-${version}`;
}

/** Converts a cache tag back to the preset version to which it belongs, as `id@version`. */
export function presetReferenceOfTag(tag: string): string {
  return tag.replace(/^preset-(.+)-(\d+)$/, '$1@$2');
}
