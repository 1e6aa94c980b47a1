import type { TSchema } from '@sinclair/typebox';
import { likelyNames, meantWordHint } from '../../ids/nearest.ts';
import { isJsonObject, parseJsonOrUndefined, truncatedJson } from '../../values/json.ts';

/** A remedy for a wrong value: a sentence, and the value that was certainly meant, or the words to choose from. */
export interface Remedy {
  says: string;
  replace?: unknown;
  /** Whether the value stands for no value, so that the field is left out. */
  remove?: true;
  /** A share of a side of the picture, 0 to 1, that was sent where pixels are expected. */
  share?: number;
  suggest?: (string | number)[];
  /** The value that was probably meant, if it is neither a word nor a number. */
  instead?: unknown;
}

/**
 * The remedy for a value that is nearly valid, such as null where a field can be left out, a percentage where a share
 * is expected, a number as text or with a unit, or a misspelt word.
 */
export function remedyOf(value: unknown, schema: TSchema): Remedy {
  if (value === null) return { says: ' Leave it out instead of sending null.', remove: true };
  if (typeof value === 'string' && (schema.type === 'array' || schema.type === 'object')) {
    const parsed = parseJsonOrUndefined(value);
    if (Array.isArray(parsed) ? schema.type === 'array' : isJsonObject(parsed) && schema.type === 'object')
      return { says: ' Send it as JSON, and not as the text of it.', replace: parsed };
  }
  if (isListOf(schema, 'string') && typeof value === 'string') return listRemedy(value);
  if (isListOf(schema, 'integer') && typeof value === 'string' && /^\d+(\s*,\s*\d+)*$/.test(value))
    return { says: ' Send a list of numbers.', replace: value.split(',').map(Number) };
  if (isListOf(schema, 'object') && isJsonObject(value)) return objectRemedy(value, schema.items);
  if (schema.type === 'object' && Array.isArray(value) && value.length === 1 && isJsonObject(value[0]))
    return { says: ' Send the object itself.', replace: value[0] };
  if (typeof value === 'string' && schema.type === 'object') return bareTextRemedy(value, schema);
  if (typeof schema.pattern === 'string' && typeof value === 'string')
    return patternRemedy(value, schema.pattern);
  if (schema.type === 'boolean') return booleanRemedy(value);
  if (typeof value === 'string' && isListOf(schema, 'object'))
    return bareTextRemedy(value, schema.items).says === ''
      ? rowsRemedy(value, schema.items)
      : listRemedy(value);
  if (Array.isArray(value)) return wordsRemedy(value, acceptedWordsOf(schema));
  const number = alternativesOf(schema).find(({ type }) => NUMBER_TYPES.includes(type));
  const remedy = number === undefined ? { says: '' } : numberRemedy(value, number);
  if (remedy.says !== '' || typeof value !== 'string') return remedy;
  const word = wordRemedy(value, acceptedWordsOf(schema));
  return word.says === '' &&
    WORDS_FOR_NOTHING.includes(value.trim().toLowerCase()) &&
    (number !== undefined || schema.enum !== undefined)
    ? { says: ' Leave it out.', remove: true }
    : word;
}

/** The texts by which programs and people mean "no value" where a number or one of several words is expected. */
const WORDS_FOR_NOTHING = ['', 'null', 'nil', 'none', 'undefined', 'nan', 'auto', 'default'];

/**
 * The remedy for a text in place of a list of texts: one text of the list, or several texts with commas between them.
 */
function listRemedy(value: string): Remedy {
  const entries = value.split(',').map((entry) => entry.trim());
  if (entries.length > 1 && !entries.includes(''))
    return { says: ' Send a list of texts.', replace: entries };
  return { says: ` Send a list of one: [${excerptOf(value)}].`, replace: [value] };
}

/**
 * The remedy for an object where a list of objects is expected. The object is one entry of the list, or it contains all
 * entries, keyed by their names or by the ops of steps.
 */
function objectRemedy(
  value: Readonly<Record<string, unknown>>,
  { documented, properties = documented?.properties ?? {}, within }: TSchema,
): Remedy {
  const entries = Object.entries(value);
  const areAllKeys = entries.length > 0 && !entries.some(([key]) => Object.hasOwn(properties, key));
  const keyed = entries.flatMap(([key, one]) => within?.keyed?.(key, one) ?? []);
  if (areAllKeys && keyed.length === entries.length)
    return { says: ' Send a list of them, in their order.', replace: keyed };
  const named = entries.flatMap(([name, one]) => (isJsonObject(one) ? [{ name, ...one }] : []));
  return areAllKeys && Object.hasOwn(properties, 'name') && named.length === entries.length
    ? { says: ' Send a list of objects, each with its name.', replace: named }
    : { says: ' Send a list of one.', replace: [value] };
}

/**
 * The remedy for a text where an object without required fields is expected. The text is taken as its first field, such
 * as `op`.
 */
function bareTextRemedy(value: string, { properties = {}, required = [] }: TSchema): Remedy {
  const [[name, { type }] = ['', {}]] = Object.entries<Partial<TSchema>>(properties);
  if (type !== 'string' || required.length > 0) return { says: '' };
  const replace = { [name]: value };
  return { says: ` Send ${excerptOf(replace)}.`, replace };
}

/**
 * The remedy for a flat list of numbers in place of objects, such as `10,10,50,50` in place of
 * `{x: 10, y: 10, width: 50, height: 50}`.
 */
function rowsRemedy(value: string, { required = [] }: TSchema): Remedy {
  const names = required as string[];
  const numbers = value
    .split(/[\s,;|x]+/)
    .filter((part) => part !== '')
    .map(Number);
  const isWhole = names.length > 1 && numbers.length > 0 && numbers.length % names.length === 0;
  if (!isWhole || numbers.some((number) => !Number.isFinite(number)) || numbers.length > MAX_ROW_NUMBERS)
    return { says: '' };
  const rows = Array.from({ length: numbers.length / names.length }, (_, row) =>
    Object.fromEntries(names.map((name, at) => [name, numbers[row * names.length + at]])),
  );
  return { says: ` Did you mean ${excerptOf(rows)}?`, instead: rows };
}

/** The most numbers in a row for which a remedy is made. */
const MAX_ROW_NUMBERS = 100;

/** The strings that a schema accepts, even if it accepts numbers as well. */
function acceptedWordsOf(schema: TSchema): string[] {
  return alternativesOf(schema)
    .flatMap((one) => (one.const === undefined ? (one.enum ?? []) : [one.const]))
    .map(String);
}

function alternativesOf(schema: TSchema): TSchema[] {
  return schema.anyOf ?? schema.oneOf ?? [schema];
}

export function wordRemedy(value: string, known: readonly string[]): Remedy {
  const ratio = aspectRatioIn(value);
  const sizes = ratio === undefined ? [] : sizesNearestTo(ratio, known);
  if (sizes.length > 0) return suggestionRemedy(sizes);
  const words = likelyNames(value, known);
  const says = meantWordHint(words);
  if (words.length === 1) return { says, replace: words[0] };
  return { says, ...(words.length > 1 && { suggest: words }) };
}

/**
 * The remedy for a list of words, some of them misspelt, where one word is expected. A list that is longer than the
 * number of known words has no remedy.
 */
function wordsRemedy(value: readonly unknown[], known: readonly string[]): Remedy {
  if (value.length === 0 || value.length > known.length) return { says: '' };
  const meant = value.map((word) => likelyNames(String(word), known));
  const replace = meant.flatMap((words) => (words.length === 1 ? words : []));
  if (replace.length === value.length) return { says: ` Did you mean ${replace.join(', ')}?`, replace };
  return { says: '' };
}

const BOOLEAN_WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

function booleanRemedy(value: unknown): Remedy {
  const word = String(value).toLowerCase();
  const flag = Object.hasOwn(BOOLEAN_WORDS, word) ? BOOLEAN_WORDS[word] : undefined;
  return flag === undefined ? { says: '' } : { says: ` Send ${flag}.`, replace: flag };
}

function isListOf({ type, items = {} }: TSchema, entry: 'string' | 'object' | 'integer'): boolean {
  if (type !== 'array') return false;
  const documented: TSchema = items.documented ?? {};
  return [items, documented, ...(documented.anyOf ?? [])].some((one) => one.type === entry);
}

const TWO_NUMBERS = /^\s*(\d+)\s*([x×/:-]|\.{2,3})\s*(\d+)\s*$/i;
/** The separators that patterns accept between two numbers. */
const SEPARATORS = [':', '..', 'x'];

/**
 * The remedy for a text that does not match a pattern. If the text is two numbers, their separator is corrected. If the
 * pattern is that of a slug, the text is written in lower case, with hyphens for all other characters.
 */
function patternRemedy(value: string, pattern: string): Remedy {
  const remedy = separatorRemedy(value, pattern);
  const slug = value
    .slice(0, MAX_SLUG_CHARACTERS)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return remedy.says === '' && new RegExp(pattern).test(slug)
    ? { says: ` Send ${slug}.`, replace: slug }
    : remedy;
}

/** The most characters of a text that are used for a suggested slug. */
const MAX_SLUG_CHARACTERS = 100;

/** The remedy for two numbers with a wrong separator, such as 16/9 for 16:9. A ratio is never a size in pixels. */
function separatorRemedy(value: string, pattern: string): Remedy {
  const [, first, , second] = TWO_NUMBERS.exec(value) ?? [];
  if (first === undefined) return { says: '' };
  const accepted = new RegExp(pattern);
  const ratio = aspectRatioIn(value);
  const signs = ratio === undefined ? SEPARATORS : SEPARATORS.filter((sign) => sign !== 'x');
  const replace = signs.map((sign) => `${first}${sign}${second}`).find((text) => accepted.test(text));
  if (replace !== undefined) return { says: ` Send ${replace}.`, replace };
  if (ratio === undefined) return { says: '' };
  return suggestionRemedy(sizesOfRatio(ratio).filter((size) => accepted.test(size)));
}

/** The aspect ratio in a text such as `16:9` or `16/9`, width by height; undefined for any other text. */
function aspectRatioIn(value: string): number | undefined {
  const [, first, sign = '', second] = TWO_NUMBERS.exec(value) ?? [];
  const ratio = /[:/]/.test(sign) ? Number(first) / Number(second) : Number.NaN;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
}

/** The longer sides of the sizes that are suggested for an aspect ratio, in pixels. */
const SUGGESTED_SIDES_PX = [1024, 512];

function sizesOfRatio(ratio: number): string[] {
  return SUGGESTED_SIDES_PX.map((longer) =>
    ratio >= 1 ? `${longer}x${Math.round(longer / ratio)}` : `${Math.round(longer * ratio)}x${longer}`,
  );
}

/** The sizes among some words, such as `1536x1024`, whose aspect ratio is nearest to the given one. */
function sizesNearestTo(ratio: number, words: readonly string[]): string[] {
  const sizes = words.flatMap((word) => {
    const [, width, height] = /^(\d+)x(\d+)$/.exec(word) ?? [];
    if (height === undefined) return [];
    return [{ word, by: Math.abs(Math.log(Number(width) / Number(height) / ratio)) }];
  });
  const least = Math.min(...sizes.map(({ by }) => by));
  return sizes.filter(({ by }) => by === least).map(({ word }) => word);
}

function suggestionRemedy(words: (string | number)[]): Remedy {
  return words.length === 0 ? { says: '' } : { says: ` Did you mean ${words.join(' or ')}?`, suggest: words };
}

const NUMBER_TYPES = ['integer', 'number'];
/**
 * The longest text that is searched for a number. Nobody writes longer numbers, and the time of the search grows with
 * the square of the length.
 */
const MAX_NUMBER_CHARACTERS = 64;
const NUMBER_AS_TEXT =
  /^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(px|%|deg|°|dpi|fps|x|s|sec|seconds|bytes|k|kb|mb|kib|mib)?\s*$/i;
/**
 * Matches a whole number with a point as its thousands separator. The text may also be a number with three decimals.
 */
const POINT_BETWEEN_THOUSANDS = /^[-+]?\d{1,3}\.\d{3}$/;
const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  mb: 1e6,
  mib: 1024 ** 2,
};

/** The remedy for a number: the number that was meant, or the nearest accepted numbers if that one is not accepted. */
function numberRemedy(value: unknown, schema: TSchema): Remedy {
  const meant = numberAsTextRemedy(value, schema);
  const { replace = value } = meant;
  const share = shareForPercentage(Number(replace), schema);
  if (share !== undefined) return { says: ` Did you mean ${share}?`, replace: share };
  const isNumber = typeof replace === 'number' || (typeof replace === 'string' && replace.trim() !== '');
  const nearest = isNumber ? nearestAccepted(Number(replace), schema) : [];
  return nearest.length === 0 ? meant : suggestionRemedy(nearest);
}

/**
 * The accepted numbers nearest to a number: the bound that it exceeds, or the whole numbers next to a fraction. Empty
 * if the number itself is accepted.
 */
function nearestAccepted(
  number: number,
  { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: TSchema,
): number[] {
  if (!Number.isFinite(number)) return [];
  if (number > maximum) return [maximum];
  if (number < minimum) return [minimum];
  return type === 'integer' && !Number.isInteger(number) ? [Math.floor(number), Math.ceil(number)] : [];
}

function numberAsTextRemedy(value: unknown, schema: TSchema): Remedy {
  if (typeof value === 'boolean') return booleanForNumberRemedy(value, schema);
  if (isPercentage(schema) && typeof value === 'string') {
    const level = PERCENTAGE_BY_QUALITY_WORD.get(value.toLowerCase());
    if (level !== undefined) return suggestionRemedy([level]);
  }
  const text = normalizedNumberText(String(value).slice(0, MAX_NUMBER_CHARACTERS + 1), schema);
  if (text.length > MAX_NUMBER_CHARACTERS) return { says: '' };
  const [, digits, unit] = NUMBER_AS_TEXT.exec(text) ?? [];
  if (digits === undefined || (schema.type === 'integer' && POINT_BETWEEN_THOUSANDS.test(digits)))
    return { says: '' };
  const number = Number(digits);
  if (unit === '%') return shareRemedy(number, schema);
  const factor = BYTES_PER_UNIT[unit?.toLowerCase() ?? ''];
  if (factor !== undefined) {
    const replace = Math.round(number * factor);
    return { says: ` Send ${replace}.`, replace };
  }
  if (unit) return { says: ` Send ${number} without the unit.`, replace: number };
  if (isFractionOfPercentage(number, schema)) {
    const replace = Math.round(number * 100);
    return { says: ` Did you mean ${replace}?`, replace };
  }
  const isWritten = typeof value === 'string' && (schema.type === 'number' || Number.isInteger(number));
  if (!isWritten) return { says: '' };
  return { says: ` Send ${number}${digits === String(number) ? ' without quotes' : ''}.`, replace: number };
}

/** Removes quotes and thousands separators, and turns a decimal comma into a point. */
function normalizedNumberText(text: string, { type }: TSchema): string {
  const bare = text.trim().replace(/^(["'])(.*)\1$/, '$2');
  if (/^[-+]?\d{1,3}([,_ ]\d{3})+$/.test(bare) && type === 'integer') return bare.replaceAll(/[,_ ]/g, '');
  return type === 'number' && /^[-+]?\d+,\d+$/.test(bare) ? bare.replace(',', '.') : bare;
}

/**
 * The share, 0 to 1, that a percentage means. Undefined for numbers that are no percentage, and for fields whose bounds
 * are not 0 and 1.
 */
function shareForPercentage(value: number, { type, minimum = 0, maximum }: TSchema): number | undefined {
  const share = value / 100;
  const isShare = type === 'number' && maximum === 1 && minimum >= 0;
  return isShare && value >= MIN_PERCENTAGE && share <= maximum && share >= minimum ? share : undefined;
}

/** A number below this is more likely a share above its bound, such as 1.5, than a percentage. */
const MIN_PERCENTAGE = 2;

/** The remedy for a number with a per cent sign. A whole number above 100 is a number of pixels, and never a share. */
function shareRemedy(percent: number, { type, maximum = Number.POSITIVE_INFINITY }: TSchema): Remedy {
  if (maximum === 100) return { says: ` Send ${percent} without the unit.`, replace: percent };
  if (maximum === 1) return { says: ` Send ${percent / 100}.`, replace: percent / 100 };
  if (type === 'number') return { says: ' A share is not taken: send a number without a unit.' };
  const says =
    ' A share is not taken: read the size of the picture (POST /api/v1/images/metadata), and send pixels.';
  return { says, share: percent / 100 };
}

function isFractionOfPercentage(value: number, schema: TSchema): boolean {
  return isPercentage(schema) && value > 0 && value < 1;
}

function isPercentage({ type, minimum, maximum }: TSchema): boolean {
  return NUMBER_TYPES.includes(type) && minimum === 1 && maximum === 100;
}

/** The percentage that each word for a quality probably means. */
const PERCENTAGE_BY_QUALITY_WORD = new Map(
  Object.entries({ low: 50, medium: 75, high: 90, best: 100, max: 100, maximum: 100 }),
);

/** The remedy for `true` or `false` where a number with an upper bound is expected, such as a wait. */
function booleanForNumberRemedy(value: boolean, { clamped }: TSchema): Remedy {
  const [, most]: readonly (number | undefined)[] = clamped ?? [];
  if (most === undefined) return { says: '' };
  return value
    ? { says: ` Send ${most}, which is the most.`, replace: most }
    : { says: ' Leave it out.', remove: true };
}

const MAX_EXCERPT_CHARACTERS = 60;

/** The beginning of a value as JSON. The rest is not written, because a body may have megabytes. */
export function excerptOf(value: unknown): string {
  const text = truncatedJson(value, MAX_EXCERPT_CHARACTERS + 1);
  return text.length <= MAX_EXCERPT_CHARACTERS ? text : `${text.slice(0, MAX_EXCERPT_CHARACTERS)}…`;
}
