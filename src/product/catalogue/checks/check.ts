import { Type } from '@sinclair/typebox';
import { mendsAt, type SentField, sentAs } from '../../../platform/http/errors/sent-field.ts';
import { OPS } from '../index.ts';
import { type Checked, type Given, isPixelOp, type Op } from '../op.ts';
import { firstViolation } from './contract.ts';
import { parametersInOwnSpelling } from './spelling.ts';

const ANY_OBJECT = Type.Object({}, { additionalProperties: true });

/**
 * Checks parameters against their op's contract, and normalizes the spelling of a deterministic op's. The result is
 * stored and run. The parameters of a model's op stay as sent; those of an AI image op only have to be an object.
 * @param at the field `parameters`, or `parameters.<name>` of it, as it was sent.
 * @throws ApiError invalid_param naming the parameter, with details of what was received and what is allowed.
 */
export function checkParameters(
  op: Op,
  given: unknown = {},
  at: (key: string) => SentField = sentBare,
): Checked {
  const schema = op.runs === 'model' && op.parametersAsSent ? ANY_OBJECT : op.parameters;
  const own = parametersInOwnSpelling(op, given as Given);
  const violation = firstViolation(schema, own, op.op) ?? op.rule?.(own);
  if (violation === undefined) return own as Checked;
  const { key, message, details, mends = [] } = violation;
  const field = at(key === '' ? 'parameters' : `parameters.${key}`);
  const elsewhere = mends.length > 0 || details?.suggest !== undefined ? '' : takenElsewhere(op, key);
  throw field.refuse(
    `${message}${elsewhere}`,
    details,
    mendsAt(mends, (param) => at(`parameters.${param}`)),
  );
}

/** A parameter that is a field of the call itself, such as a key of the query. */
export function sentBare(key: string): SentField {
  return sentAs(key.replace(/^parameters\./, ''));
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
