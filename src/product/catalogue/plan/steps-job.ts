import { invalidParam } from '../../../platform/http/errors/errors.ts';
import type { Models } from '../../models/models.ts';
import { warningsOf } from '../checks/warnings.ts';
import type { CheckedWork, JobWork } from './checked-job.ts';
import type { CompiledStep } from './compiled-step.ts';
import { planOf, takenBy, typeOf } from './plan.ts';
import type { PresetStep, Subject } from './step.ts';
import { readSteps } from './steps.ts';

/** A job of a list of steps that is run once. */
export function checkStepsJob(body: JobWork, steps: readonly PresetStep[], models: Models): CheckedWork {
  const { compiled, subjects, named, schemas } = readSteps(steps, body.subjects ?? [], models);
  return {
    ...jobOfSteps(body, compiled, subjects, 'these steps run'),
    variants: [{ parameters: {}, segments: planOf(compiled) }],
    named,
    schemas,
  };
}

/**
 * The properties of a job of compiled steps, sent or of a preset, that are the same for all variants.
 * @param whose the subject and verb of the sentence about their type: 'these steps run'.
 * @throws ApiError invalid_param on type, when the caller sent a different one.
 */
export function jobOfSteps(
  { type: sent }: JobWork,
  compiled: readonly CompiledStep[],
  subjects: Subject[],
  whose: string,
): Omit<CheckedWork, 'variants' | 'named' | 'schemas'> {
  const segments = planOf(compiled);
  const type = typeOf(segments);
  if (sent !== undefined && sent !== type) {
    const message = `type is ${sent}, but ${whose} as ${type}: leave type out.`;
    throw invalidParam('type', message, { received: sent, allowed: [type] });
  }
  return {
    type,
    takes: takenBy(segments),
    subjects,
    warnings: warningsOf(compiled),
    produces: segments.at(-1)?.produces ?? 'image',
  };
}
