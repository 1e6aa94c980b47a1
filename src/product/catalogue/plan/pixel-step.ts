import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { checkParameters } from '../checks/check.ts';
import { mergeFragments } from '../merge.ts';
import type { Checked, Given, PixelOp } from '../op.ts';
import type { DeterministicStep } from './compiled-step.ts';

/**
 * Checks the parameters of an op against its contract and for conflicts in its pass, for calls and jobs alike.
 * @returns its compiled step, and the parameters with normalized spelling, which are shown, stored and run.
 * @param prefixOf returns the prefix of a parameter's name in a refusal.
 * @throws ApiError invalid_param on the parameter at fault.
 */
export function lonePixelStep(
  op: PixelOp,
  given: Given,
  prefixOf: (key: string) => string = () => '',
): { step: DeterministicStep; parameters: Checked } {
  const parameters = checkParameters(op, given, prefixOf);
  const fragment = op.compile(parameters);
  const { conflict } = mergeFragments([fragment]);
  if (conflict !== undefined)
    throw invalidParam(`${prefixOf(conflict.key)}${conflict.key}`, conflict.message);
  return { step: { kind: 'deterministic', index: 0, fragment }, parameters };
}
