import type { CompiledStep } from '../catalogue/compiled-step.ts';
import { layersOf } from '../catalogue/registry.ts';
import { invalidParam } from '../http/errors.ts';
import type { PresetStep, Subject } from './schema.ts';

/** Which of these ids are not the account's own assets with status DONE. */
export type MissingAssets = (accountId: string, assetIds: readonly string[]) => Promise<string[]>;

/** An asset that a version runs on, and the parameter that a refusal of it names. */
export interface NamedAsset {
  assetId: string;
  param: string;
}

/** The images of the subjects, all of them named by the one parameter. */
export function assetsOfSubjects(subjects: readonly Subject[], param: string): NamedAsset[] {
  return subjects.flatMap(({ referenceAssetIds }) =>
    referenceAssetIds.map((assetId) => ({ assetId, param })),
  );
}

/**
 * The second assets that steps read: layers, and what a comparison is made with.
 * @param where goes before the index of the step, as in `steps[1].parameters.layerAssetId`.
 */
export function assetsOfSteps(
  steps: readonly PresetStep[],
  compiled: readonly CompiledStep[],
  where: string,
): NamedAsset[] {
  return compiled.flatMap((step) => {
    if (step.kind === 'ai') return [];
    const at = `${where}[${step.index}]`;
    const paramOf = (key: string) =>
      steps[step.index]?.op === undefined ? `${at}.params` : `${at}.parameters.${key}`;
    const { steps: parts, compareWith } = step.fragment;
    const layers = layersOf(parts).map(({ assetId, key }) => ({ assetId, param: paramOf(key) }));
    if (compareWith === undefined) return layers;
    return [...layers, { assetId: compareWith, param: paramOf('otherAssetId') }];
  });
}

/**
 * Refuses a version that names an asset which is not the caller's own with status DONE.
 * @throws ApiError invalid_param on the first parameter at fault, with its ids in details.missing.
 */
export async function checkNamedAssets(
  named: readonly NamedAsset[],
  accountId: string,
  missingAssets: MissingAssets,
): Promise<void> {
  if (named.length === 0) return;
  const ids = named.map(({ assetId }) => assetId);
  const absent = new Set(await missingAssets(accountId, ids));
  const param = named.find(({ assetId }) => absent.has(assetId))?.param;
  if (param === undefined) return;
  const missing = named
    .filter((asset) => asset.param === param && absent.has(asset.assetId))
    .map(({ assetId }) => assetId);
  const message = `${param} refers to ${missing.join(', ')}: send ids of your own assets with status DONE.`;
  throw invalidParam(param, message, { missing });
}
