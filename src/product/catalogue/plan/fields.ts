import { isDeepStrictEqual } from 'node:util';
import { invalidParam } from '../../../platform/http/errors/errors.ts';
import type { AiOp, Given } from '../op.ts';

/**
 * Moves fields of a model's op (`prompt`, `count`) out of its parameters, where callers may send them because the
 * catalogue lists both together.
 * @param where the prefix of a parameter's name in an error, such as `steps[0].parameters.`
 * @throws ApiError invalid_param on the parameter when the field was sent in both places with different values.
 */
export function withLiftedFields<T extends { parameters?: unknown }>(op: AiOp, sent: T, where: string): T {
  const { parameters } = sent;
  if (typeof parameters !== 'object' || parameters === null) return sent;
  const names = Object.keys(op.fields).filter((name) => Object.hasOwn(parameters, name));
  if (names.length === 0) return sent;
  const remaining: Record<string, unknown> = { ...parameters };
  const fields: Record<string, unknown> = {};
  for (const name of names) {
    const own = (sent as Given)[name];
    if (own !== undefined && !isDeepStrictEqual(own, remaining[name])) {
      const message = `${name} is sent beside the op and within its parameters, and the two differ: send it once, beside the op.`;
      throw invalidParam(`${where}${name}`, message);
    }
    fields[name] = remaining[name];
    delete remaining[name];
  }
  return { ...sent, ...fields, parameters: remaining };
}

/**
 * Refuses fields that have no meaning here.
 * @param why the reason, as the end of the sentence; `excludedBy` is the field that excludes them.
 * @param at the prefix of their names, such as `steps[0].`
 * @throws ApiError invalid_param on the first of them that was sent.
 */
export function refuseFields<T extends object>(
  sent: T,
  fields: readonly (keyof T & string)[],
  why: string,
  { at = '', excludedBy }: { at?: string; excludedBy?: string } = {},
): void {
  const field = fields.find((name) => sent[name] !== undefined);
  if (field === undefined) return;
  const where = excludedBy === undefined ? '' : ` beside ${excludedBy}`;
  throw invalidParam(`${at}${field}`, `${at}${field} must be left out${where}: ${why}.`);
}
