import { type ApiError, invalidParam } from '../../../platform/http/errors/errors.ts';
import { type Obstacle, READS_SECOND } from './plan.ts';
import type { PresetStep } from './step.ts';

/** The refusal of a preset that does not run while its caller waits. @param param names the preset in the call. */
export function presetRefusal(
  { does }: Obstacle['obstacle'],
  steps: readonly PresetStep[],
  param: string,
): ApiError {
  const message = `The preset has a step that ${does}, so it runs only as a job: send it to POST /api/v1/jobs`;
  if (does !== READS_SECOND) return invalidParam(param, `${message}.`);
  return invalidParam(param, `${message}, or send its steps as steps of this call.`, {
    instead: [{ steps }],
  });
}
