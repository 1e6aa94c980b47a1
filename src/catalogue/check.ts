import { Type } from '@sinclair/typebox';
import { invalidParam } from '../http/errors.ts';
import { firstViolation } from './contract.ts';
import type { Checked, Op } from './op.ts';

const ANY_OBJECT = Type.Object({}, { additionalProperties: true });

/**
 * Holds parameters against their op's contract. An AI image op's go to the model as sent, and only have to be an object.
 * @param where goes before the name of the parameter at fault: '' for query keys, `parameters.` for a job,
 *   `steps[2].parameters.` for a preset's step. A function answers it for each name: variants inherit parameters.
 * @throws ApiError invalid_param naming the parameter, with details of what was received and what is allowed.
 */
export function checkParameters(
  op: Op,
  given: unknown = {},
  where: string | ((key: string) => string) = '',
): Checked {
  const schema = op.runs === 'model' && op.parametersAsSent ? ANY_OBJECT : op.parameters;
  const violation = firstViolation(schema, given, op.op) ?? op.rule?.(given as Checked);
  if (violation === undefined) return given as Checked;
  const before = typeof where === 'string' ? where : where(violation.key);
  const param =
    violation.key === '' ? before.replace(/\.$/, '') || 'parameters' : `${before}${violation.key}`;
  throw invalidParam(param, violation.message, violation.details);
}
