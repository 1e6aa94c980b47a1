import { ApiError, invalidParam } from '../../../platform/http/errors/errors.ts';
import { present } from '../../../platform/values/present.ts';
import type { Models } from '../../models/models.ts';
import { findOp } from '../index.ts';
import { schemasOf } from './ai-step.ts';
import type { CheckedWork, JobWork } from './checked-job.ts';
import type { CompiledStep } from './compiled-step.ts';
import { assetsOf } from './named-assets.ts';
import type { PresetStep, Subject } from './step.ts';
import { compileSteps } from './steps.ts';
import { jobOfSteps } from './steps-job.ts';
import { checkSubjectsAreUsed } from './subjects.ts';
import { type MergedVariant, mergedVariants, plannedVariant } from './variants.ts';

/** A version of a preset, as it is stored. */
export interface StoredSteps {
  steps: readonly PresetStep[];
  subjects: readonly Subject[];
}

/** The fields that override the single AI step of a preset. */
const OVERRIDES = ['model', 'prompt', 'parameters', 'variants'] as const;

/**
 * Checks a job that runs a preset against the current catalogue: the steps were valid when they were saved, but a model
 * may not be offered any more, and an override may be invalid.
 * @throws ApiError invalid_param on the invalid override, on model, or on presetId for a step that is no longer valid.
 */
export function checkPresetJob(body: JobWork, stored: StoredSteps, models: Models): CheckedWork {
  const aiIndex = overriddenStep(body, stored.steps);
  const subjects = [...stored.subjects];
  const checked = mergedVariants(body).map((variant) => {
    const steps = overridden(stored.steps, aiIndex, body, variant);
    const compiled = withOwnParam(aiIndex, variant, () => {
      const list = compileSteps(steps, models);
      checkSubjectsAreUsed(list, subjects, models);
      return list;
    });
    return { steps, compiled, variant };
  });
  // Variants differ only in the parameters of one step, so all else is the same for all of them.
  const { steps, compiled } = checked[0] ?? { steps: [], compiled: [] };
  return {
    ...jobOfSteps(body, compiled, subjects, 'the preset runs'),
    variants: checked.map(({ compiled, variant }) => plannedVariant(variant, compiled)),
    named: assetsOf(steps, compiled, subjects).map((asset) => ({ ...asset, param: 'presetId' })),
    // The schemas of the preset itself were compiled when it was saved.
    schemas: checked.flatMap(({ variant: { parameters, prefixOf } }) =>
      schemasOf(parameters, `${prefixOf('schema')}schema`),
    ),
  };
}

/** The index of the single AI step, when overrides were sent. */
function overriddenStep(body: JobWork, steps: readonly PresetStep[]): number | undefined {
  const override = OVERRIDES.find((field) => body[field] !== undefined);
  if (override === undefined) return undefined;
  const aiSteps = steps.flatMap(({ op }, index) => (findOp(op ?? '')?.runs === 'model' ? [index] : []));
  const [only, ...others] = aiSteps;
  if (only !== undefined && others.length === 0) return only;
  const has = only === undefined ? 'no step that runs a model' : `${aiSteps.length} steps that run models`;
  const message = `${override} overrides the one AI step of a preset, and this preset has ${has}: leave it out, or send steps.`;
  throw invalidParam(override, message);
}

function overridden(
  steps: readonly PresetStep[],
  aiIndex: number | undefined,
  { model, prompt }: JobWork,
  { parameters }: MergedVariant,
): PresetStep[] {
  return steps.map((step, index) => {
    if (index !== aiIndex) return step;
    return { ...step, ...present({ model, prompt }), parameters: { ...step.parameters, ...parameters } };
  });
}

/**
 * Checks the steps, and translates the parameter of a refusal: a model becomes `model`, an override its field, and
 * anything else `presetId`.
 */
function withOwnParam(
  aiIndex: number | undefined,
  { prefixOf }: MergedVariant,
  check: () => CompiledStep[],
): CompiledStep[] {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ApiError) || error.param === undefined) throw error;
    const [, index, field = '', key = ''] = /^steps\[(\d+)\]\.(\w+)\.?(.*)$/.exec(error.param) ?? [];
    const message = error.message.replaceAll(`steps[${index}].`, '');
    if (field === 'model') throw invalidParam('model', message, error.details);
    if (error.param === 'subjects') throw error;
    if (aiIndex !== undefined && Number(index) === aiIndex) {
      const param = field === 'parameters' ? `${prefixOf(key)}${key}`.replace(/\.$/, '') : field;
      throw invalidParam(param, message, error.details);
    }
    const problem = `The preset has a step that is no longer accepted, save it again: ${message}`;
    throw invalidParam('presetId', problem, { step: error.param });
  }
}
