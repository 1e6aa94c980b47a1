import { present } from '../../platform/values/present.ts';
import type { PresetStep, Subject } from '../catalogue/plan/step.ts';

/** The content of one version of a preset. A version never changes. */
export interface PresetContent {
  steps: PresetStep[];
  subjects: Subject[];
  /** The widths that signed addresses of it may ask for, ascending; absent where it declares none. */
  widths?: number[];
  /** What signed addresses of it answer while their source is away; absent for the refusal. */
  fallback?: Fallback;
}

/** A picture in place of another, and the status that it is answered with. */
export interface Fallback {
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
  /** When the current version was saved; a rename changes only updatedAt. */
  versionSavedAt: string;
  /** The numbers of the stored earlier versions, oldest first. */
  superseded: number[];
  createdAt: string;
  updatedAt: string;
}

/** A version with its number, the current one or an earlier one. */
export interface PresetVersion extends PresetContent {
  version: number;
  /** When this version was saved. */
  updatedAt: string;
}

/** The current version of a preset, in the form of an earlier one. */
export function currentVersion(preset: Preset): PresetVersion {
  const { version, steps, subjects, widths, fallback, versionSavedAt } = preset;
  return { version, steps, subjects, ...present({ widths, fallback }), updatedAt: versionSavedAt };
}

/** What a cache purges when a version is deleted: the tag of the pictures that it made. */
export function cacheTagOf(presetId: string, version: number): string {
  return `preset-${presetId}-${version}`;
}

/** The preset and version of such a tag, as a call names them: `id@version`. */
export function referenceOfTag(tag: string): string {
  return tag.replace(/^preset-(.+)-(\d+)$/, '$1@$2');
}
