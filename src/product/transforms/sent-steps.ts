import { Type } from '@sinclair/typebox';
import type { Pass } from '../../../workers/protocol.ts';
import { invalidParam } from '../../platform/http/errors/errors.ts';
import { checkOf } from '../../platform/http/errors/validation.ts';
import type { StepWarning } from '../catalogue/checks/warnings.ts';
import { findOp } from '../catalogue/index.ts';
import { isPixelOp } from '../catalogue/op.ts';
import type { DeterministicStep } from '../catalogue/plan/compiled-step.ts';
import { onePassOf } from '../catalogue/plan/one-pass.ts';
import { checkStepSizes } from '../catalogue/plan/sizes.ts';
import { PresetStep } from '../catalogue/plan/step.ts';
import { compileSteps } from '../catalogue/plan/steps.ts';
import type { Models } from '../models/models.ts';
import { namedAs } from './metered-call.ts';

const MAX_STEPS = 20;

/** Steps of a transform, as they are sent. */
export const SentSteps = Type.Array(PresetStep, {
  minItems: 1,
  maxItems: MAX_STEPS,
  description:
    'Deterministic steps, run in order as one pass: one decode, one encode, one run. Instead of op, preset and parameters.',
});

/** @throws ApiError (from the check) invalid_param on steps, or `steps[i]…`. */
const checkShape = checkOf(Type.Object({ steps: SentSteps }), 'steps');

/** A list of steps that runs while its caller waits. */
interface PlannedSteps {
  pass: Pass;
  warnings: StepWarning[];
  /** Where a parameter of the pass was sent, as in `steps[1].parameters.width`. */
  paramOf: (passParam: string) => string;
}

/**
 * The one pass of the steps that a call sent.
 * @throws ApiError invalid_param on steps, on the step, or on the field or parameter of it that is at fault.
 */
export function planOfSteps(value: unknown, models: Models): PlannedSteps {
  const { steps: sent } = checkShape({ steps: value });
  checkStepSizes(sent, 'steps');
  const run = onePassOf(compileSteps(sent, models));
  if (run.obstacle !== undefined) {
    const { index, does } = run.obstacle;
    const field = sent[index]?.op === undefined ? 'operation' : 'op';
    const message = `steps[${index}] ${does}, so these steps run only as a job: send them with assetIds to POST /api/v1/jobs.`;
    throw invalidParam(`steps[${index}].${field}`, message);
  }
  const { pass, warnings, steps } = run;
  return { pass, warnings, paramOf: (passParam) => sentPathOf(passParam, sent, steps) };
}

/** Counts the steps of the pass from 0, as a refusal of the worker does. */
const STEP_OF_PASS = /^steps\[(\d+)\]/;

function sentPathOf(
  passParam: string,
  sent: readonly PresetStep[],
  steps: readonly DeterministicStep[],
): string {
  const stepIndex = STEP_OF_PASS.exec(passParam)?.[1];
  const index = stepIndex === undefined ? lastWith(passParam, sent) : sentIndexOf(Number(stepIndex), steps);
  const step = sent[index];
  if (step === undefined) return 'steps';
  const op = findOp(step.op ?? '');
  if (op !== undefined && isPixelOp(op)) {
    const name = namedAs(op, step.parameters ?? {})(passParam);
    return `steps[${index}].${name === 'op' ? name : `parameters.${name}`}`;
  }
  return `steps[${index}].params.${passParam.split('.').at(-1)}`;
}

/** The index of the sent step that a step of the pass was compiled from. */
function sentIndexOf(stepIndex: number, steps: readonly DeterministicStep[]): number {
  const sentIndexes = steps.flatMap(({ index, fragment }) => fragment.steps.map(() => index));
  return sentIndexes[stepIndex] ?? -1;
}

/** The index of the last step with a parameter of reading or writing, which overrides the earlier ones. */
function lastWith(name: string, sent: readonly PresetStep[]): number {
  return sent.findLastIndex(({ parameters = {} }) => name in parameters);
}
