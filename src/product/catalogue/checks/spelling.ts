import type { TSchema } from '@sinclair/typebox';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { distinctValues, isJsonObject, parseJsonOrUndefined } from '../../../platform/values/json.ts';
import { findOp } from '../index.ts';
import type { GivenParameters, Op } from '../op.ts';

const WHOLE_NUMBER_PATTERN = /^-?\d+$/;
/** A decimal number. It may have an exponent, because programs write small numbers such as 1e-7 that way. */
const DECIMAL_PATTERN = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

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
    given.push([name, parseAsDeclared(op.parameters.properties[name], value)]);
  }
  return Object.fromEntries(given);
}

function parseAsDeclared(schema: TSchema | undefined, text: string): unknown {
  if (schema === undefined) return text;
  const alternatives: TSchema[] = schema.anyOf ?? [schema];
  for (const { type } of alternatives) {
    const value = parseAsType(type, text);
    if (value !== undefined) return value;
  }
  return text;
}

/** Parses text as a value of a JSON type; undefined if it is not one. */
function parseAsType(type: string | undefined, text: string): unknown {
  switch (type) {
    case 'integer':
      return WHOLE_NUMBER_PATTERN.test(text) ? Number(text) : undefined;
    case 'number':
      return DECIMAL_PATTERN.test(text) ? Number(text) : undefined;
    case 'boolean':
      // `normalizeFlag` accepts other spellings of true and false.
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'array':
    case 'object':
      return parseJsonOrUndefined(text);
    default:
      return undefined;
  }
}

/** Aliases of formats, in lower case and without `image/`. */
const FORMAT_ALIASES = new Map(Object.entries({ jpg: 'jpeg', jfif: 'jpeg', tif: 'tiff' }));

/** Aliases of positions, in lower case and without separators between words. */
const POSITION_ALIASES = new Map<string, string>(
  Object.entries({
    centre: 'center',
    middle: 'center',
    top: 'north',
    bottom: 'south',
    left: 'west',
    right: 'east',
    topleft: 'northwest',
    topright: 'northeast',
    bottomleft: 'southwest',
    bottomright: 'southeast',
    lefttop: 'northwest',
    righttop: 'northeast',
    leftbottom: 'southwest',
    rightbottom: 'southeast',
    northwest: 'northwest',
    northeast: 'northeast',
    southwest: 'southwest',
    southeast: 'southeast',
  }),
);

const BARE_HEX_COLOUR_PATTERN = /^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/;

/**
 * Normalizes the spelling of a deterministic op's parameters for storing, comparing and running: formats, positions and
 * colours in lower case and by their main names, `True` and `False` as booleans. All other values stay as sent, and so
 * do the parameters of a model.
 */
export function normalizeParameterSpelling(op: Op, given: GivenParameters): GivenParameters {
  if (op.kind === 'ai' || !isJsonObject(given)) return given;
  const { properties } = op.parameters;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, normalizeValue(properties[name], value)]),
  );
}

/**
 * Normalizes a step for storing and comparing. A registry operation stays as sent, and so does a step that the checks
 * will refuse.
 */
export function normalizeStepSpelling<S extends { op?: string; parameters?: GivenParameters }>(step: S): S {
  const op = findOp(step.op);
  if (op === undefined || step.parameters === undefined) return step;
  return { ...step, parameters: normalizeParameterSpelling(op, step.parameters) };
}

/** Brings the value of a parameter to its normal spelling, if it has several. */
function normalizeValue(schema: TSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (schema.anyOf?.some(isChoiceOfFormats)) return normalizeFormats(value);
  if (typeof value !== 'string') return value;
  if (schema.type === 'boolean') return normalizeFlag(value);
  if (schema.format === 'css-color') return normalizeColour(value);
  if (isChoiceOfFormats(schema)) return normalizeFormatName(value);
  const words: unknown[] = schema.enum ?? [];
  return words.includes('northwest') ? normalizePosition(value) : value;
}

function normalizeFlag(text: string): unknown {
  const word = text.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : text;
}

function normalizeColour(text: string): string {
  const word = text.toLowerCase();
  return BARE_HEX_COLOUR_PATTERN.test(word) ? `#${word}` : word;
}

function isChoiceOfFormats({ enum: words = [] }: TSchema): boolean {
  return words.includes('jpeg');
}

/** Normalizes one format, or several of them in a list or in a comma-separated text. */
function normalizeFormats(value: unknown): unknown {
  if (typeof value === 'string' && !value.includes(',')) return normalizeFormatName(value);
  const list: unknown = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(list)) return value;
  return list.map((one) => (typeof one === 'string' ? normalizeFormatName(one.trim()) : one));
}

/** The main name of a format: `JPG`, `image/jpeg` and `jpeg` become jpeg. Any other text becomes lower case. */
export function normalizeFormatName(text: string): string {
  const word = text.toLowerCase().replace(/^image\//, '');
  return FORMAT_ALIASES.get(word) ?? word;
}

function normalizePosition(text: string): string {
  const word = text.toLowerCase();
  const plain = word.replaceAll(/[-_ ]/g, '').replace('upper', 'top').replace('lower', 'bottom');
  return POSITION_ALIASES.get(plain) ?? word;
}
