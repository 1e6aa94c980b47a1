import { invalidParam } from '../../../platform/http/errors.ts';
import { warningsOf } from '../checks/warnings.ts';
import type { CheckedJob, JobWork } from './checked-job.ts';
import type { CompiledStep } from './compiled-step.ts';
import { planOf, takenBy, typeOf } from './plan.ts';
import type { Subject } from './step.ts';
import { referencesOf } from './subjects.ts';

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
): Omit<CheckedJob, 'variants' | 'named' | 'schemas'> {
  const segments = planOf(compiled);
  const type = typeOf(segments);
  if (sent !== undefined && sent !== type) {
    const message = `type is ${sent}, but ${whose} as ${type}: leave type out.`;
    throw invalidParam('type', message, { received: sent, allowed: [type] });
  }
  return {
    type,
    takes: takenBy(segments),
    count: 1,
    subjects,
    references: referencesOf(subjects),
    warnings: warningsOf(compiled),
    produces: segments.at(-1)?.produces ?? 'image',
  };
}
