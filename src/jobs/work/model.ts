import type { ModelSegment } from '../../catalogue/plan/plan.ts';
import { ApiError } from '../../http/errors.ts';
import type { ItemCall, Made } from './perform.ts';

/** Runs a model over an item. */
export function createModelWork(_options: object) {
  return async (_call: ItemCall, segment: ModelSegment, _input: Uint8Array | null): Promise<Made> => {
    throw new ApiError('service_misconfigured', `No provider here runs ${segment.model}.`);
  };
}
