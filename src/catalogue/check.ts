import { invalidParam } from '../http/errors.ts';
import { firstViolation } from './contract.ts';
import type { Checked, Op } from './op.ts';

/**
 * Holds parameters against their op's contract.
 * @param where goes before the name of the parameter at fault: '' for query keys, `parameters.` for a job,
 *   `steps[2].parameters.` for a preset's step.
 * @throws ApiError invalid_param naming the parameter, with details of what was received and what is allowed.
 */
export function checkParameters(op: Op, given: unknown = {}, where = ''): Checked {
  const violation = firstViolation(op.parameters, given, op.op) ?? op.rule?.(given as Checked);
  if (violation === undefined) return given as Checked;
  const param = violation.key === '' ? where.replace(/\.$/, '') || 'parameters' : `${where}${violation.key}`;
  throw invalidParam(param, violation.message, violation.details);
}
