import type { TSchema } from '@sinclair/typebox';
import { likelyNames } from '../../ids/nearest.ts';
import { isJsonObject, parseJsonOrUndefined } from '../../values/json.ts';
import { type CallCorrection, siblingPath } from './corrections.ts';

/**
 * Recognises correct values in the wrong shape: fields that were sent one level too high or too low, in one text, under
 * an extra key, or in another unit.
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
  /** The sentence for the message. If absent, the message only lists the fields. */
  says?: string;
}

/** A share of a side of the picture, from 0 to 1. It is converted to pixels later. */
class ShareOfSide {
  readonly share: number;

  constructor(share: number) {
    this.share = share;
  }
}

/**
 * Recognises one wrong shape. It returns the declared fields to send in place of the first undeclared field, or of all
 * of them.
 */
type ShapeRecognizer = (object: MisshapenObject) => Reshaping | undefined;

const SHAPE_RECOGNIZERS: readonly ShapeRecognizer[] = [
  recognizeListEntry,
  recognizeKeyAsValue,
  recognizeWrapper,
  recognizeBracketedName,
  recognizeNameWithUnit,
  recognizeFlag,
  recognizeNegation,
  recognizePoint,
  recognizeScale,
  recognizeEdges,
  recognizeNumberRow,
  recognizeIdsOrUrls,
];

/** Finds the declared fields that were meant by undeclared ones; undefined if the wrong shape is not known. */
export function findReshaping(object: MisshapenObject): Reshaping | undefined {
  const { sent, schema } = object;
  const isFree = (name: string) => Object.hasOwn(schema.properties ?? {}, name) && !Object.hasOwn(sent, name);
  for (const recognize of SHAPE_RECOGNIZERS) {
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
    ...Object.entries(by).map(([name, add]) => ({
      param: siblingPath(param, name),
      ...(add instanceof ShareOfSide ? { share: add.share } : { add }),
    })),
  ];
}

/**
 * Recognises fields of a list's entry that were sent without the list. For example, x, y, width and height belong in an
 * entry of `regions`, and op and parameters in an entry of `steps`.
 */
function recognizeListEntry({ names, sent, schema }: MisshapenObject): Reshaping | undefined {
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
function recognizeKeyAsValue({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const by: Reshaping['by'] | undefined = schema.within?.keyed?.(name, sent[name]);
  return by && { of: [name], by };
}

/**
 * Recognises an undeclared object, or its JSON text, around declared fields: `{"viewport": {"width": 9, "height": 9}}`.
 * The object may be the only entry of a list, such as `{"jobs": [{"op": "flip"}]}`.
 */
function recognizeWrapper({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const { [name]: value } = sent;
  const opened = typeof value === 'string' ? parseJsonOrUndefined(value) : value;
  const inner = Array.isArray(opened) && opened.length === 1 ? opened[0] : opened;
  if (!isJsonObject(inner) || Object.keys(inner).length === 0 || isMisspelt(name, schema)) return undefined;
  return { of: [name], by: inner };
}

/** Recognises a nested field as some libraries write it in a query: `parameters[width]` for width. */
function recognizeBracketedName({ names: [name], sent }: MisshapenObject): Reshaping | undefined {
  const [, inner] = /^\w+\[(\w+)\]$/.exec(name) ?? [];
  return inner === undefined ? undefined : { of: [name], by: { [inner]: numberIfNumeric(sent[name]) } };
}

/**
 * Units at the end of field names, each with the unit in the names of this service and the factor to it. Lengths in
 * pixels have no unit in their names.
 */
const UNITS_IN_NAMES: readonly (readonly [end: RegExp, unit: string, factor: number])[] = [
  [/_?(kb|kilobytes)$/i, 'Bytes', 1e3],
  [/_?(mb|megabytes)$/i, 'Bytes', 1e6],
  [/(_ms|Ms|MS|_?millis|_?milliseconds)$/, 'Seconds', 1e-3],
  [/_?minutes$/i, 'Seconds', 60],
  [/_?hours$/i, 'Seconds', 3_600],
  [/_?days$/i, 'Seconds', 86_400],
  [/_?(px|pixels)$/i, '', 1],
];

/** Recognises another unit in a name: `{"maxKB": 200}` for maxBytes, or `{"expiresInMinutes": 5}`. */
export function recognizeNameWithUnit({
  names: [name],
  sent,
  schema,
}: MisshapenObject): Reshaping | undefined {
  const [end, unit, factor] = UNITS_IN_NAMES.find(([pattern]) => pattern.test(name)) ?? [];
  const number = numberIfNumeric(sent[name]);
  if (end === undefined || typeof number !== 'number') return undefined;
  const [field, ...others] = likelyNames(name.replace(end, unit ?? ''), Object.keys(schema.properties ?? {}));
  if (field === undefined || others.length > 0) return undefined;
  return { of: [name], by: { [field]: number * (factor ?? 1) } };
}

/**
 * Recognises a value that was sent as the name of a flag: `{"horizontal": true}` is the value `horizontal` of the field
 * `axis`, and `smart` is the value `attention` of the field `gravity`.
 */
function recognizeFlag({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  if (String(sent[name]) !== 'true') return undefined;
  const fields = Object.entries<TSchema>(schema.properties ?? {});
  const [by, ...others] = fields.flatMap(([one, { enum: words = [] }]) =>
    likelyNames(name, words, Number.POSITIVE_INFINITY).map((word) => ({ [one]: word })),
  );
  return by === undefined || others.length > 0 ? undefined : { of: [name], by };
}

/** Matches the beginnings of names that deny what the rest of the name says. */
const NEGATION_PATTERN = /^(without|prevent|disable|disallow|no)_?(?=[A-Za-z]{4})/i;

/** Recognises a flag by the name of its opposite: `{"withoutEnlargement": true}` is the value false of `enlarge`. */
function recognizeNegation({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const denied = { true: false, false: true }[String(sent[name])];
  const { properties = {} } = schema;
  if (denied === undefined || !NEGATION_PATTERN.test(name)) return undefined;
  const flags = Object.keys(properties).filter((field) => properties[field].type === 'boolean');
  const [field, ...others] = likelyNames(name.replace(NEGATION_PATTERN, ''), flags);
  return field === undefined || others.length > 0 ? undefined : { of: [name], by: { [field]: denied } };
}

const FOCAL_FIELDS = ['focalX', 'focalY'];
const FOCAL_POINT_NAME_PATTERN = /^(focal|focus|poi|hotspot|gravity|point)([_-]?(point|xy))?$/i;

/** Recognises a focal point in one value: `{"x": 0.3, "y": 0.4}`, `[0.3, 0.4]` or `0.3,0.4`. */
function recognizePoint({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const { [name]: value } = sent;
  const isDeclared = FOCAL_FIELDS.every((field) => Object.hasOwn(schema.properties ?? {}, field));
  if (!isDeclared || !FOCAL_POINT_NAME_PATTERN.test(name)) return undefined;
  const opened = typeof value === 'string' ? parseJsonOrUndefined(`[${value}]`) : value;
  const [x, y, ...more] = Array.isArray(opened) ? opened : isJsonObject(opened) ? [opened.x, opened.y] : [];
  const isShare = (one: unknown) => typeof one === 'number' && one >= 0 && one <= 1;
  return isShare(x) && isShare(y) && more.length === 0
    ? { of: [name], by: { focalX: x, focalY: y } }
    : undefined;
}

/** Names that other services use for the factor by which a picture is scaled. */
const SCALE_NAME_PATTERN = /^(scale|factor|zoom|percent(age)?|resize)$/i;

/** Recognises the factor of a reduced size: `scale=0.5` or `percent=50` is a share of the width. */
function recognizeScale({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const { properties = {} } = schema;
  const isOfPicture = ['width', 'enlarge'].every((field) => Object.hasOwn(properties, field));
  const [, digits = '', sign] = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(String(sent[name])) ?? [];
  const percent = sign === '%' || /^percent/i.test(name) ? Number(digits) : Number(digits) * 100;
  const isReduced = digits !== '' && percent > 0 && percent < 100;
  if (!isOfPicture || !SCALE_NAME_PATTERN.test(name) || !isReduced || Object.hasOwn(sent, 'height'))
    return undefined;
  const says = `Send width in pixels, ${percent}% of the width of the picture, in place of ${name}.`;
  return { of: [name], by: { width: new ShareOfSide(percent / 100) }, says };
}

/** Names of the left, upper, right and lower edges of a rectangle. */
const EDGE_NAMES = [
  ['left', 'top', 'right', 'bottom'],
  ['x1', 'y1', 'x2', 'y2'],
  ['x0', 'y0', 'x1', 'y1'],
  ['xmin', 'ymin', 'xmax', 'ymax'],
];

/** Recognises a rectangle by its edges: `{"x1": 10, "y1": 10, "x2": 90, "y2": 70}` is 80 pixels wide. */
function recognizeEdges({ names, sent }: MisshapenObject): Reshaping | undefined {
  const edges = EDGE_NAMES.find((four) => four.every((name) => names.includes(name)));
  const [left, top, right, bottom] = (edges ?? []).map((name) => Number(sent[name]));
  if (left === undefined || top === undefined || right === undefined || bottom === undefined)
    return undefined;
  if (!(right > left && bottom > top)) return undefined;
  return { of: edges ?? [], by: { x: left, y: top, width: right - left, height: bottom - top } };
}

const SIZE_FIELDS = ['width', 'height'];
const RECTANGLE_FIELDS = ['x', 'y', ...SIZE_FIELDS];
/** Matches a rectangle as ImageMagick writes it: `80x60+10+10`. In a query, a plus sign is a space. */
const GEOMETRY_PATTERN = /^(\d{1,6})x(\d{1,6})[+ ](\d{1,6})[+ ](\d{1,6})$/;

/** Recognises numbers in a row: a size such as `1200x630` or `[1200, 630]`, or a rectangle such as `10,10,80,60`. */
function recognizeNumberRow({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const [, width, height, x, y] = (GEOMETRY_PATTERN.exec(String(sent[name])) ?? []).map(Number);
  if (y !== undefined) return { of: [name], by: { x, y, width, height } };
  const numbers = numbersIn(sent[name]);
  const fields = [SIZE_FIELDS, RECTANGLE_FIELDS].find(({ length }) => length === numbers.length);
  if (fields === undefined || isMisspelt(name, schema)) return undefined;
  return { of: [name], by: Object.fromEntries(fields.map((field, at) => [field, numbers[at]])) };
}

/**
 * Patterns of values that are recognised by how they begin, each with the fields that such a value may be meant for.
 */
const FIELDS_BY_VALUE_PATTERN: readonly (readonly [value: RegExp, fields: readonly string[]])[] = [
  [/^ast_\w{16,}$/, ['assetId', 'layerAssetId', 'otherAssetId', 'assetIds', 'input', 'other', 'inputs']],
  [/^https?:\/\//i, ['url', 'layerUrl', 'otherUrl', 'input', 'other', 'inputs']],
];

/**
 * Recognises ids of assets, or URLs, that were sent under a wrong name. If there are several, they become the entries
 * of one list, or, in their order, the values of the fields that were not sent.
 */
function recognizeIdsOrUrls({ names: [name], sent, schema }: MisshapenObject): Reshaping | undefined {
  const { properties = {} } = schema;
  const values = [sent[name]].flat();
  if (values.length === 0) return undefined;
  const allMatch = (pattern: RegExp) =>
    values.every((value) => typeof value === 'string' && pattern.test(value));
  const [, fields = []] = FIELDS_BY_VALUE_PATTERN.find(([pattern]) => allMatch(pattern)) ?? [];
  const free = fields.filter((field) => Object.hasOwn(properties, field) && !Object.hasOwn(sent, field));
  const list = free.find((field) => properties[field].type === 'array');
  // A misspelt name is renamed, unless its list would be refused under the right name.
  if (isMisspelt(name, schema) && (list !== undefined || !Array.isArray(sent[name]))) return undefined;
  if (list !== undefined) return { of: [name], by: { [list]: values } };
  if (values.length > free.length) return undefined;
  const by = Object.fromEntries(values.map((value, at) => [free[at], value]));
  return { of: [name], by };
}

/**
 * The corrections for a whole size that was sent as a width or a height. For `1200x630`, they replace the value by 1200
 * and add the other side, 630.
 */
export function sizeCorrections(param: string, value: unknown): CallCorrection[] {
  const numbers = numbersIn(value);
  const isOfSide = SIZE_FIELDS.some((field) => siblingPath(param, field) === param);
  // Two numbers with a comma between them are more likely one number with a thousands separator.
  const isSize = numbers.length === SIZE_FIELDS.length && !(typeof value === 'string' && value.includes(','));
  if (!isOfSide || !isSize) return [];
  return SIZE_FIELDS.map((field, at): CallCorrection => {
    const side = siblingPath(param, field);
    return side === param ? { param, replace: numbers[at] } : { param: side, add: numbers[at] };
  });
}

function isMisspelt(name: string, { properties = {} }: Partial<TSchema>): boolean {
  return likelyNames(name, Object.keys(properties)).length > 0;
}

/** Matches whole numbers with the same separator between them, such as `1200x630` or `10, 10, 80, 60`. */
const NUMBER_LIST_PATTERN = /^\s*\d{1,6}(\s*[x×*]\s*\d{1,6}|(\s*,\s*\d{1,6}){1,3})\s*$/i;

/** The numbers of a size or a rectangle that was sent as text or as a list; empty for any other value. */
function numbersIn(value: unknown): number[] {
  if (Array.isArray(value)) return value.every(Number.isSafeInteger) ? value : [];
  return typeof value === 'string' && NUMBER_LIST_PATTERN.test(value)
    ? value.split(/[x×*,]/i).map(Number)
    : [];
}

/**
 * Converts a decimal number in text to a number, because all values of a query are texts. Any other value is returned
 * as it is.
 */
function numberIfNumeric(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : value;
}
