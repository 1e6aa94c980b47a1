import { Type } from '@sinclair/typebox';
import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { isObject } from '../../../platform/values/json.ts';
import { OPS } from '../index.ts';
import { type Checked, isPixelOp, type Op } from '../op.ts';
import { firstViolation } from './contract.ts';
import { parametersInOwnSpelling } from './spelling.ts';

const ANY_OBJECT = Type.Object({}, { additionalProperties: true });

/**
 * Checks parameters against their op's contract, and normalizes the spelling of a deterministic op's. The result is
 * stored and run. The parameters of a model's op stay as sent; those of an AI image op only have to be an object.
 * @param where the prefix of the invalid parameter's name: '' for query keys, `parameters.` for a job,
 *   `steps[2].parameters.` for a preset's step. It can be a function of the name, because variants inherit parameters.
 * @throws ApiError invalid_param naming the parameter, with details of what was received and what is allowed.
 */
export function checkParameters(
  op: Op,
  given: unknown = {},
  where: string | ((key: string) => string) = '',
): Checked {
  const schema = op.runs === 'model' && op.parametersAsSent ? ANY_OBJECT : op.parameters;
  const own = isObject(given) ? parametersInOwnSpelling(op, given) : given;
  const violation = firstViolation(schema, own, op.op) ?? op.rule?.(own as Checked);
  if (violation === undefined) return own as Checked;
  const before = typeof where === 'string' ? where : where(violation.key);
  const param =
    violation.key === '' ? before.replace(/\.$/, '') || 'parameters' : `${before}${violation.key}`;
  throw invalidParam(param, `${violation.message}${takenElsewhere(op, violation.key)}`, violation.details);
}

/** The most ops that are named when a parameter belongs to others. */
const MAX_NAMED_PROBLEMS = 3;

/** A sentence that names the ops of a parameter which this deterministic op does not have; '' when no op has it. */
function takenElsewhere(op: Op, key: string): string {
  if (!isPixelOp(op) || key === '' || Object.hasOwn(op.parameters.properties, key)) return '';
  const takers = Object.values<Op>(OPS).filter(
    (other) => isPixelOp(other) && Object.hasOwn(other.parameters.properties, key),
  );
  const named = takers.slice(0, MAX_NAMED_PROBLEMS).map((other) => other.op);
  if (named.length === 0) return '';
  const take = named.length === 1 ? 'takes' : 'take';
  return ` ${named.join(', ')} ${take} it: send several ops as steps.`;
}
