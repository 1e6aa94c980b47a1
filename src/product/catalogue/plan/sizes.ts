import { invalidParam } from '../../../platform/http/errors/errors.ts';
import type { JobWork } from './sent-job.ts';
import type { PresetStep } from './step.ts';

/** Largest parameters of a job, or of one step, as JSON. */
const MAX_PARAMETERS_BYTES = 64 * 1024;
/** Largest parameters of all variants of a job together, as JSON. */
const MAX_VARIANTS_BYTES = 256 * 1024;
/** Largest list of steps, as JSON. */
const MAX_STEPS_BYTES = 512 * 1024;

/**
 * Refuses a job whose stored parameters would be too large, before they are processed.
 * @throws ApiError invalid_param on parameters, variants, steps, or the parameters or params of a step.
 */
export function checkJobSize({ parameters, variants, steps }: JobWork): void {
  checkBytes(parameters, MAX_PARAMETERS_BYTES, 'parameters');
  checkBytes(variants, MAX_VARIANTS_BYTES, 'variants');
  if (steps === undefined) return;
  checkStepSizes(steps, 'steps');
  checkBytes(steps, MAX_STEPS_BYTES, 'steps');
}

/**
 * Refuses steps whose parameters are too large.
 * @param where the prefix of the invalid step's index, as in `steps[1].parameters`.
 * @throws ApiError invalid_param on the parameters or params of the step at fault.
 */
export function checkStepSizes(steps: readonly PresetStep[], where: string): void {
  for (const [index, { parameters, params }] of steps.entries()) {
    checkBytes(parameters, MAX_PARAMETERS_BYTES, `${where}[${index}].parameters`);
    checkBytes(params, MAX_PARAMETERS_BYTES, `${where}[${index}].params`);
  }
}

/** @throws ApiError invalid_param on `param` for parameters of an op that are too large. */
export function checkParametersSize(parameters: unknown, param: string): void {
  checkBytes(parameters, MAX_PARAMETERS_BYTES, param);
}

function checkBytes(value: unknown, limit: number, param: string): void {
  if (value === undefined) return;
  const received = Buffer.byteLength(JSON.stringify(value));
  if (received <= limit) return;
  const message = `${param} is ${received} bytes of JSON, and at most ${limit} are allowed: send less.`;
  throw invalidParam(param, message, { limit, received });
}
