import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { PresetStep, PromptSubject } from '../catalogue/plan/step.ts';

/** The content of one version of a preset. A version never changes. */
export interface PresetContent {
  steps: PresetStep[];
  subjects: PromptSubject[];
  /** The widths that signed addresses may ask for, ascending; absent if it declares none. */
  widths?: number[];
  /** The picture that signed addresses serve while their source is unreachable; absent for an error. */
  fallback?: PresetFallback;
}

/** A replacement picture, and the HTTP status with which it is sent. */
export interface PresetFallback {
  assetId: string;
  status: 200 | 404;
}

/** A preset with its current version. Instants are ISO-8601. */
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

/** A version with its number, current or earlier. */
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

/** The cache tag of the pictures that a preset version made. Caches purge it when the version is deleted. */
export function presetCacheTagOf(presetId: string, version: number): string {
  return `preset-${presetId}-${version}`;
}

/** The reference `id@version` of the preset version that a cache tag names. */
export function presetReferenceOfTag(tag: string): string {
  return tag.replace(/^preset-(.+)-(\d+)$/, '$1@$2');
}
