import type { TSchema } from '@sinclair/typebox';
import { likelyNames } from '../../ids/nearest.ts';
import { isJsonObject, parseJsonOrUndefined } from '../../values/json.ts';
import { type CallCorrection, siblingPath } from './corrections.ts';

/**
 * Recognises right values in the wrong shape: fields that were sent one level too high or too low, as one text, or
 * under a key.
 */

/** An object with fields that its schema does not declare. */
interface MisshapenObject {
  /** The names of the undeclared fields, at least one. */
  names: readonly [string, ...string[]];
  sent: Readonly<Record<string, unknown>>;
  schema: Partial<TSchema>;
}

/** Undeclared fields (`of`), and the declared fields that are to be sent in their place (`by`). */
export interface Reshaping {
  of: readonly string[];
  by: Readonly<Record<string, unknown>>;
}

/**
 * Recognises one wrong shape. It returns the declared fields to send in place of the first undeclared field, or of all
 * of them.
 */
type Recognizer = (object: MisshapenObject) => Reshaping | undefined;

const RECOGNIZERS: readonly Recognizer[] = [
  asListEntry,
  asKey,
  asWrapper,
  asBracketedName,
  asRow,
  asOwnValue,
];

/** Finds the declared fields that were meant by undeclared ones; undefined if the wrong shape is not known. */
export function findReshaping(object: MisshapenObject): Reshaping | undefined {
  const { sent, schema } = object;
  const isFree = (name: string) => Object.hasOwn(schema.properties ?? {}, name) && !Object.hasOwn(sent, name);
  for (const recognize of RECOGNIZERS) {
    const reshaping = recognize(object);
    if (reshaping !== undefined && Object.keys(reshaping.by).every(isFree)) return reshaping;
  }
  return undefined;
}

/** The names in an object that its schema does not declare. */
export function undeclaredNamesIn(sent: unknown, { properties = {} }: Partial<TSchema>): string[] {
  return isJsonObject(sent) ? Object.keys(sent).filter((name) => !Object.hasOwn(properties, name)) : [];
}

/**
 * The corrections that remove the undeclared fields and add the declared ones.
 * @param param the path of one of the fields of the object.
 */
export function reshapingCorrections(param: string, { of, by }: Reshaping): CallCorrection[] {
  return [
    ...of.map((name) => ({ param: siblingPath(param, name), remove: true as const })),
    ...Object.entries(by).map(([name, add]) => ({ param: siblingPath(param, name), add })),
  ];
}

/**
 * Recognises fields of a list's entry that were sent without the list. For example, x, y, width and height belong in an
 * entry of `regions`, and op and parameters in an entry of `steps`.
 */
function asListEntry({ names, sent, schema }: MisshapenObject): Reshaping | undefined {
  const [list] =
    Object.entries<TSchema>(schema.properties ?? {}).find(([name, { items }]) => {
      const { properties: fields = {}, required = [] } = (items ?? {}) as TSchema;
      const [first = ''] = Object.keys(fields);
      const needed = [first, ...(required as string[])];
      return (
        (names.length > 1 || required.length > 0) &&
        !Object.hasOwn(sent, name) &&
        needed.every((field) => names.includes(field)) &&
        names.every((field) => Object.hasOwn(fields, field))
      );
    }) ?? [];
  if (list === undefined) return undefined;
  const entry = Object.fromEntries(names.map((name) => [name, numberIfNumeric(sent[name])]));
  return { of: names, by: { [list]: [entry] } };
}

/**
 * Recognises a key that should be the value of a declared field. For example, `{"resize": {"width": 9}}` means an op
 * and its parameters.
 */
function asKey({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const by: Reshaping['by'] | undefined = schema.within?.keyed?.(name, sent[name]);
  return by && { of: [name], by };
}

/**
 * Recognises an undeclared object, or its JSON text, around declared fields: `{"viewport": {"width": 9, "height": 9}}`.
 */
function asWrapper({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const { [name]: value } = sent;
  const inner = typeof value === 'string' ? parseJsonOrUndefined(value) : value;
  if (!isJsonObject(inner) || Object.keys(inner).length === 0 || isMisspelt(name, schema)) return undefined;
  return { of: [name], by: inner };
}

/** Recognises a nested field as some libraries write it in a query: `parameters[width]` for width. */
function asBracketedName({ names: [name], sent }: MisshapenObject): Reshaping | undefined {
  const [, inner] = /^\w+\[(\w+)\]$/.exec(name) ?? [];
  return inner === undefined ? undefined : { of: [name], by: { [inner]: numberIfNumeric(sent[name]) } };
}

const SIZE_FIELDS = ['width', 'height'];
const RECTANGLE_FIELDS = ['x', 'y', ...SIZE_FIELDS];

/** Recognises numbers in a row: a size such as `1200x630` or `[1200, 630]`, or a rectangle such as `10,10,80,60`. */
function asRow({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const numbers = numbersIn(sent[name]);
  const fields = [SIZE_FIELDS, RECTANGLE_FIELDS].find(({ length }) => length === numbers.length);
  if (fields === undefined || isMisspelt(name, schema)) return undefined;
  return { of: [name], by: Object.fromEntries(fields.map((field, at) => [field, numbers[at]])) };
}

/**
 * Patterns of values that are recognised by how they begin, each with the fields that such a value may be meant for.
 */
const FIELDS_BY_VALUE_PATTERN: readonly (readonly [value: RegExp, fields: readonly string[]])[] = [
  [/^ast_\w{16,}$/, ['assetId', 'assetIds', 'input', 'inputs']],
  [/^https?:\/\//i, ['url', 'input', 'inputs']],
];

/** Recognises the id of an asset, or a URL, that was sent under a wrong name. */
function asOwnValue({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const { [name]: value } = sent;
  if (typeof value !== 'string' || isMisspelt(name, schema)) return undefined;
  const [, fields = []] = FIELDS_BY_VALUE_PATTERN.find(([pattern]) => pattern.test(value)) ?? [];
  const { properties = {} } = schema;
  const field = fields.find((one) => Object.hasOwn(properties, one));
  if (field === undefined) return undefined;
  return { of: [name], by: { [field]: properties[field].type === 'array' ? [value] : value } };
}

/**
 * The corrections for a whole size that was sent as a width or a height. For `1200x630`, they replace the value by 1200
 * and add the other side, 630.
 */
export function sizeCorrections(param: string, value: unknown): CallCorrection[] {
  const numbers = numbersIn(value);
  const isSide = SIZE_FIELDS.some((field) => siblingPath(param, field) === param);
  // Two numbers with a comma between them are more likely one number with a thousands separator.
  const isSize = numbers.length === SIZE_FIELDS.length && !(typeof value === 'string' && value.includes(','));
  if (!isSide || !isSize) return [];
  return SIZE_FIELDS.map((field, at): CallCorrection => {
    const side = siblingPath(param, field);
    return side === param ? { param, replace: numbers[at] } : { param: side, add: numbers[at] };
  });
}

function isMisspelt(name: string, { properties = {} }: Partial<TSchema>): boolean {
  return likelyNames(name, Object.keys(properties)).length > 0;
}

/** Matches whole numbers with the same separator between them, such as `1200x630` or `10, 10, 80, 60`. */
const ROW_PATTERN = /^\s*\d{1,6}(\s*[x×*]\s*\d{1,6}|(\s*,\s*\d{1,6}){1,3})\s*$/i;

/** The numbers of a size or a rectangle that was sent as text or as a list; empty for any other value. */
function numbersIn(value: unknown): number[] {
  if (Array.isArray(value)) return value.every(Number.isSafeInteger) ? value : [];
  return typeof value === 'string' && ROW_PATTERN.test(value) ? value.split(/[x×*,]/i).map(Number) : [];
}

/**
 * Converts a text of digits to a number, because all values of a query are texts. Any other value is returned as it is.
 */
function numberIfNumeric(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,9}$/.test(value) ? Number(value) : value;
}
