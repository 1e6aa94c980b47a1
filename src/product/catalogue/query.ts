import type { TSchema } from '@sinclair/typebox';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { distinctValues, parseJsonOrUndefined } from '../../platform/values/json.ts';
import type { Op } from './op.ts';

const WHOLE_NUMBER = /^-?\d+$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Parses an op's parameters from a query or from multipart fields, each as its declared type. Text of another type and
 * undeclared keys stay unchanged; `checkOpParameters` refuses them.
 * @param query contains only the keys of the op, not the keys of the call such as op, preset and response.
 * @throws ApiError invalid_param on a key that was sent more than once.
 */
export function parseOpParameters(
  op: Op,
  query: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, unknown> {
  const given: [string, unknown][] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (typeof value !== 'string') {
      const details = { received: value, suggest: distinctValues(value) };
      throw invalidParamError(name, `${name} is given ${value.length} times: send it once.`, details);
    }
    given.push([name, coerce(op.parameters.properties[name], value)]);
  }
  return Object.fromEntries(given);
}

function coerce(schema: TSchema | undefined, text: string): unknown {
  if (schema === undefined) return text;
  const alternatives: TSchema[] = schema.anyOf ?? [schema];
  for (const { type } of alternatives) {
    const value = read(type, text);
    if (value !== undefined) return value;
  }
  return text;
}

/** Parses text as a JSON type; undefined when it is not of that type. */
function read(type: string | undefined, text: string): unknown {
  switch (type) {
    case 'integer':
      return WHOLE_NUMBER.test(text) ? Number(text) : undefined;
    case 'number':
      return DECIMAL.test(text) ? Number(text) : undefined;
    case 'boolean':
      // spelling.ts handles other spellings of true and false.
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'array':
    case 'object':
      return parseJsonOrUndefined(text);
    default:
      return undefined;
  }
}
