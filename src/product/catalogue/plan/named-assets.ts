import { layersOf } from '../registry.ts';
import type { CompiledStep, DeterministicStep } from './compiled-step.ts';
import type { PresetStep, Subject } from './step.ts';

/** An asset that the work needs besides its items, with its role and with the parameter that a refusal names. */
export interface NamedAsset {
  assetId: string;
  param: string;
  role: 'layer' | 'comparison' | 'reference';
}

/** The images of the subjects. A refusal names the parameter `subjects` for all of them. */
export function assetsOfSubjects(subjects: readonly Subject[], param: string): NamedAsset[] {
  return subjects.flatMap(({ referenceAssetIds }) =>
    referenceAssetIds.map((assetId) => ({ assetId, param, role: 'reference' as const })),
  );
}

/**
 * The second assets that steps read: layers, and references of comparisons.
 * @param where the prefix of the step's index, as in `steps[1].parameters.layerAssetId`.
 */
export function assetsOfSteps(
  steps: readonly PresetStep[],
  compiled: readonly CompiledStep[],
  where: string,
): NamedAsset[] {
  return compiled.flatMap((step) => {
    if (step.kind === 'ai') return [];
    const at = `${where}[${step.index}]`;
    return assetsOfStep(step, (key) =>
      steps[step.index]?.op === undefined ? `${at}.params` : `${at}.parameters.${key}`,
    );
  });
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
