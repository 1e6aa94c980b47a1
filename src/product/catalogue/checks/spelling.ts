import type { TSchema } from '@sinclair/typebox';
import { isJsonObject } from '../../../platform/values/json.ts';
import { findOp } from '../index.ts';
import type { GivenParameters, Op } from '../op.ts';

/** Other names of formats, in lower case and without `image/`. */
const FORMATS = new Map(Object.entries({ jpg: 'jpeg', jfif: 'jpeg', tif: 'tiff' }));

/** Other names of positions, in lower case and without signs between words. */
const POSITIONS = new Map<string, string>(
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

const BARE_HEX = /^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/;

/**
 * Normalizes the spelling of a deterministic op's parameters for storing, comparing and running: formats, positions and
 * colours in lower case and by their main names, `True` and `False` as booleans. All other values stay as sent, and so
 * do the parameters of a model.
 */
export function normalizeParameterSpelling(op: Op, given: GivenParameters): GivenParameters {
  if (op.kind === 'ai' || !isJsonObject(given)) return given;
  const { properties } = op.parameters;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, inOwnSpelling(properties[name], value)]),
  );
}

/** Normalizes a step for storing and comparing. A registry step, and one that will be refused, stays as sent. */
export function normalizeStepSpelling<S extends { op?: string; parameters?: GivenParameters }>(step: S): S {
  const op = findOp(step.op);
  if (op === undefined || step.parameters === undefined) return step;
  return { ...step, parameters: normalizeParameterSpelling(op, step.parameters) };
}

/** Normalizes the text of a parameter that has several spellings. */
function inOwnSpelling(schema: TSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (schema.anyOf?.some(isChoiceOfFormats)) return formatsInOwnSpelling(value);
  if (typeof value !== 'string') return value;
  if (schema.type === 'boolean') return readFlag(value);
  if (schema.format === 'css-color') return readColour(value);
  if (isChoiceOfFormats(schema)) return normalizeFormatName(value);
  const words: unknown[] = schema.enum ?? [];
  return words.includes('northwest') ? readPosition(value) : value;
}

function readFlag(text: string): unknown {
  const word = text.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : text;
}

function readColour(text: string): string {
  const word = text.toLowerCase();
  return BARE_HEX.test(word) ? `#${word}` : word;
}

function isChoiceOfFormats({ enum: words = [] }: TSchema): boolean {
  return words.includes('jpeg');
}

/** Normalizes one format, or several as a list or separated by commas. */
function formatsInOwnSpelling(value: unknown): unknown {
  if (typeof value === 'string' && !value.includes(',')) return normalizeFormatName(value);
  const list: unknown = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(list)) return value;
  return list.map((one) => (typeof one === 'string' ? normalizeFormatName(one.trim()) : one));
}

/** The main name of a format: `JPG`, `image/jpeg` and `jpeg` become jpeg. Any other text becomes lower case. */
export function normalizeFormatName(text: string): string {
  const word = text.toLowerCase().replace(/^image\//, '');
  return FORMATS.get(word) ?? word;
}

function readPosition(text: string): string {
  const word = text.toLowerCase();
  return POSITIONS.get(word.replaceAll(/[-_ ]/g, '')) ?? word;
}
