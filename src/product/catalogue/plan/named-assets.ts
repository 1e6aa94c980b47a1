import { layersOf } from '../registry.ts';
import type { CompiledStep, DeterministicStep } from './compiled-step.ts';
import type { PresetStep, Subject } from './step.ts';
import { referencesOf } from './subjects.ts';

/** An asset that the work needs besides its items, with its role and with the parameter that a refusal names. */
export interface NamedAsset {
  assetId: string;
  param: string;
  role: 'layer' | 'comparison' | 'reference';
}

/**
 * The assets that steps and their subjects name: layers, references of comparisons, and the images of the subjects. A
 * refusal names the parameter `subjects` for all images of subjects.
 * @param where the prefix of the names, as in `<where>steps[1].parameters.layerAssetId`.
 */
export function assetsOf(
  steps: readonly PresetStep[],
  compiled: readonly CompiledStep[],
  subjects: readonly Subject[],
  where = '',
): NamedAsset[] {
  const ofSteps = compiled.flatMap((step) => {
    if (step.kind === 'ai') return [];
    const at = `${where}steps[${step.index}]`;
    return assetsOfStep(step, (key) =>
      steps[step.index]?.op === undefined ? `${at}.params` : `${at}.parameters.${key}`,
    );
  });
  const ofSubjects = referencesOf(subjects).map((assetId): NamedAsset => {
    return { assetId, param: `${where}subjects`, role: 'reference' };
  });
  return [...ofSteps, ...ofSubjects];
}

/** @param paramOf returns the full name of a parameter. */
export function assetsOfStep(
  { fragment: { steps, compareWith } }: DeterministicStep,
  paramOf: (key: string) => string,
): NamedAsset[] {
  const layers = layersOf(steps).map(
    ({ assetId, key }): NamedAsset => ({ assetId, param: paramOf(key), role: 'layer' }),
  );
  if (compareWith === undefined) return layers;
  return [...layers, { assetId: compareWith, param: paramOf('otherAssetId'), role: 'comparison' }];
}
