import type { TSchema } from '@sinclair/typebox';
import { likelyNames, meantWordHint } from '../../ids/nearest.ts';
import { isJsonObject, parseJsonOrUndefined } from '../../values/json.ts';
import { NUMBER_TYPES, numberRemedy } from './number-remedies.ts';
import { excerptOf, type Remedy, suggestionRemedy, TWO_NUMBERS_PATTERN } from './remedy.ts';

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
  if (isListOf(schema, 'string') && typeof value === 'string') return textForListRemedy(value);
  if (isListOf(schema, 'integer')) return numbersForListRemedy(value);
  if (schema.type === 'array' && isJsonObject(value) && takesObjects(schema))
    return objectForListRemedy(value, schema.items);
  if (schema.type === 'string' && typeof value === 'number')
    return schema.pattern === undefined
      ? { says: ' Send it as text.', replace: String(value) }
      : patternRemedy(String(value), schema.pattern);
  if (schema.type === 'string' && isJsonObject(value)) return wrappedTextRemedy(value);
  if (schema.type === 'object' && Array.isArray(value) && value.length === 1 && isJsonObject(value[0]))
    return { says: ' Send the object itself.', replace: value[0] };
  if (typeof value === 'string' && schema.type === 'object') {
    const bare = bareTextRemedy(value, schema);
    return bare.says === '' ? numberListRemedy(value.split(/[\s,;x]+/).map(Number), schema) : bare;
  }
  if (schema.type === 'object' && Array.isArray(value)) return numberListRemedy(value, schema);
  if (typeof schema.pattern === 'string' && typeof value === 'string')
    return patternRemedy(value, schema.pattern);
  if (schema.type === 'boolean') return booleanRemedy(value);
  if (typeof value === 'string' && isListOf(schema, 'object'))
    return bareTextRemedy(value, schema.items).says === ''
      ? flatRowsRemedy(value, schema.items)
      : textForListRemedy(value);
  if (Array.isArray(value)) return wordListRemedy(value, schema);
  const percent = shareAsPercentRemedy(Number(value), schema);
  if (percent !== undefined) return percent;
  const number = alternativesOf(schema).find(({ type }) => NUMBER_TYPES.includes(type));
  const remedy = number === undefined ? { says: '' } : numberRemedy(value, number);
  if (remedy.says !== '' || !['string', 'boolean'].includes(typeof value)) return remedy;
  const text = String(value);
  const word = wordRemedy(text, [...acceptedWordsOf(schema), ...exampleTextsOf(schema)]);
  return word.says === '' &&
    NO_VALUE_WORDS.includes(text.trim().toLowerCase()) &&
    (number !== undefined || schema.enum !== undefined)
    ? { says: ' Leave it out.', remove: true }
    : word;
}

/** The texts by which programs and people mean "no value" where a number or one of several words is expected. */
const NO_VALUE_WORDS = ['', 'null', 'nil', 'none', 'undefined', 'nan', 'auto', 'default'];

/**
 * The remedy for a text in place of a list of texts: one text of the list, or several texts with commas between them.
 */
function textForListRemedy(value: string): Remedy {
  const entries = value.split(',').map((entry) => entry.trim());
  if (entries.length > 1 && !entries.includes(''))
    return { says: ' Send a list of texts.', replace: entries };
  return { says: ` Send a list of one: [${excerptOf(value)}].`, replace: [value] };
}

/** The remedy for one number, or a text with several, in place of a list of numbers. Widths may end with `w`. */
function numbersForListRemedy(value: unknown): Remedy {
  const words = String(value)
    .trim()
    .split(/[\s,;]+/);
  if (!words.every((word) => /^\d+(w|px)?$/.test(word))) return { says: '' };
  return { says: ' Send a list of numbers.', replace: words.map((word) => Number.parseInt(word, 10)) };
}

/** The remedy for a share, 0 to 1, in a field that accepts shares as a text in percent, such as `5%`. */
function shareAsPercentRemedy(share: number, schema: TSchema): Remedy | undefined {
  const isShare = share > 0 && share < 1 && exampleTextsOf(schema).some((text) => text.endsWith('%'));
  if (!isShare) return undefined;
  const replace = `${Number((share * 100).toPrecision(6))}%`;
  return { says: ` Did you mean ${replace}?`, replace };
}

/**
 * The remedy for an object where a list of objects is expected. The object is one entry of the list, or it contains all
 * entries, keyed by their names or by the ops of steps.
 */
function objectForListRemedy(
  value: Readonly<Record<string, unknown>>,
  { documented, properties = documented?.properties ?? {}, within }: TSchema,
): Remedy {
  const entries = Object.entries(value);
  const areAllKeys = entries.length > 0 && !entries.some(([key]) => Object.hasOwn(properties, key));
  const keyed = entries.flatMap(([key, one]) => within?.keyed?.(key, one) ?? []);
  if (areAllKeys && keyed.length === entries.length)
    return { says: ' Send a list of them, in their order.', replace: keyed };
  const named = entries.flatMap(([name, one]) => (isJsonObject(one) ? [{ name, ...one }] : []));
  if (!areAllKeys || named.length < entries.length) return { says: ' Send a list of one.', replace: [value] };
  return Object.hasOwn(properties, 'name')
    ? { says: ' Send a list of objects, each with its name.', replace: named }
    : { says: ' Send a list of them, in their order.', replace: Object.values(value) };
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

/** The remedy for an object around the text that is expected, such as `{assetId: 'ast_…'}`. */
function wrappedTextRemedy(value: Readonly<Record<string, unknown>>): Remedy {
  const [text, ...others] = Object.values(value);
  if (typeof text !== 'string' || others.length > 0) return { says: '' };
  return { says: ` Send ${excerptOf(text)}.`, replace: text };
}

/**
 * The remedy for a flat list of numbers in place of objects, such as `10,10,50,50` in place of
 * `{x: 10, y: 10, width: 50, height: 50}`.
 */
function flatRowsRemedy(value: string, { required = [] }: TSchema): Remedy {
  const names = required as string[];
  const numbers = value
    .split(/[\s,;|x]+/)
    .filter((part) => part !== '')
    .map(Number);
  const areRowsComplete = names.length > 1 && numbers.length > 0 && numbers.length % names.length === 0;
  if (
    !areRowsComplete ||
    numbers.some((number) => !Number.isFinite(number)) ||
    numbers.length > MAX_FLAT_LIST_NUMBERS
  )
    return { says: '' };
  const rows = Array.from({ length: numbers.length / names.length }, (_, row) =>
    Object.fromEntries(names.map((name, at) => [name, numbers[row * names.length + at]])),
  );
  return { says: ` Did you mean ${excerptOf(rows)}?`, instead: rows };
}

/** The remedy for a list of numbers in place of an object, such as `[10, 10, 50, 50]` in place of a rectangle. */
function numberListRemedy(value: readonly unknown[], { required = [] }: TSchema): Remedy {
  const isComplete = value.length === required.length && value.every(Number.isFinite);
  if (!isComplete || value.length < 2) return { says: '' };
  const replace = Object.fromEntries((required as string[]).map((name, at) => [name, value[at]]));
  return { says: ` Send ${excerptOf(replace)}.`, replace };
}

/** The most numbers in a flat list for which a remedy is made. */
const MAX_FLAT_LIST_NUMBERS = 100;

/** The strings that a schema accepts, even if it accepts numbers as well. */
function acceptedWordsOf(schema: TSchema): string[] {
  return alternativesOf(schema)
    .flatMap((one) => (one.const === undefined ? (one.enum ?? []) : [one.const]))
    .map(String);
}

/** The examples of the texts that a schema accepts beside numbers, such as `50%`. */
function exampleTextsOf({ anyOf = [] }: TSchema): string[] {
  return anyOf.flatMap(({ type, examples = [] }: TSchema) => (type === 'string' ? examples : []));
}

function alternativesOf(schema: TSchema): TSchema[] {
  return schema.anyOf ?? schema.oneOf ?? [schema];
}

export function wordRemedy(value: string, known: readonly string[]): Remedy {
  const ratio = aspectRatioIn(value);
  const sizes = ratio === undefined ? [] : sizesNearestTo(ratio, known);
  if (sizes.length > 0) return suggestionRemedy(sizes);
  const parts = value.split(',').map((part) => part.trim());
  if (parts.length > 1 && parts.every((part) => known.includes(part))) return suggestionRemedy(parts);
  const words = likelyNames(value, known);
  const says = meantWordHint(words);
  if (words.length === 1) return { says, replace: words[0] };
  return { says, ...(words.length > 1 && { suggest: words }) };
}

/**
 * The remedy for a list of words. Where one value is expected: the only value of the list, or else a choice of its
 * words. Where a list is accepted, some of its words are misspelt and are corrected. A list with more entries than
 * there are known words, or with a word that is like no known word or like several, has no remedy.
 */
function wordListRemedy(value: readonly unknown[], schema: TSchema): Remedy {
  const isListAccepted = alternativesOf(schema).some(({ type }) => type === 'array');
  if (new Set(value).size === 1 && !isListAccepted)
    return { says: ' Send the value itself.', replace: value[0] };
  const known = acceptedWordsOf(schema);
  if (value.length === 0 || value.length > known.length) return { says: '' };
  const meant = value.map((word) => likelyNames(String(word), known));
  const words = meant.flatMap((likely) => (likely.length === 1 ? likely : []));
  if (words.length < value.length) return { says: '' };
  if (!isListAccepted) return suggestionRemedy(words);
  return { says: ` Did you mean ${words.join(', ')}?`, replace: words };
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

/** Whether the entries of a list may be objects: they are, or their type is not checked here. */
function takesObjects(schema: TSchema): boolean {
  return isListOf(schema, 'object') || schema.items?.type === undefined;
}

function isListOf({ type, items = {} }: TSchema, entry: 'string' | 'object' | 'integer'): boolean {
  if (type !== 'array') return false;
  const documented: TSchema = items.documented ?? {};
  return [items, documented, ...(documented.anyOf ?? [])].some((one) => one.type === entry);
}

/** The separators that patterns accept between two numbers. */
const NUMBER_SEPARATORS = [':', '..', 'x'];

/**
 * The remedy for a text that does not match a pattern. An aspect ratio in decimals is written as two numbers. If the
 * text is two numbers, their separator is corrected. If the pattern is that of a slug, the text is written in lower
 * case, with hyphens for all other characters.
 */
function patternRemedy(value: string, pattern: string): Remedy {
  const ratio = decimalRatioRemedy(value, pattern);
  const remedy = ratio.says === '' ? separatorRemedy(value, pattern) : ratio;
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

/**
 * The remedy for two numbers with a wrong separator, such as 16/9 for 16:9. A ratio is never corrected to a size such
 * as 16x9, which would be pixels.
 */
function separatorRemedy(value: string, pattern: string): Remedy {
  const [, first, , second] = TWO_NUMBERS_PATTERN.exec(value) ?? [];
  if (first === undefined) return { says: '' };
  const accepted = new RegExp(pattern);
  const ratio = aspectRatioIn(value);
  const signs = ratio === undefined ? NUMBER_SEPARATORS : NUMBER_SEPARATORS.filter((sign) => sign !== 'x');
  const replace = signs.map((sign) => `${first}${sign}${second}`).find((text) => accepted.test(text));
  if (replace !== undefined) return { says: ` Send ${replace}.`, replace };
  if (ratio === undefined) return { says: '' };
  return suggestionRemedy(sizesOfRatio(ratio).filter((size) => accepted.test(size)));
}

/** The largest second number of an aspect ratio that is found for a decimal number. */
const MAX_RATIO_HEIGHT = 100;

/**
 * The remedy for an aspect ratio in decimals, such as 1.5 or 1.78 for 3:2 or 16:9: the smallest numbers that round to
 * it.
 */
function decimalRatioRemedy(value: string, pattern: string): Remedy {
  const [, decimals] = /^\d{1,3}(?:\.(\d+))?$/.exec(value.trim()) ?? [];
  const number = Number(value);
  const error = decimals === undefined ? 0 : 0.5 * 10 ** -decimals.length;
  for (let height = 1; height <= MAX_RATIO_HEIGHT; height += 1) {
    const width = Math.round(number * height);
    const replace = `${width}:${height}`;
    if (Math.abs(width / height - number) <= error && new RegExp(pattern).test(replace))
      return { says: ` Did you mean ${replace}?`, replace };
  }
  return { says: '' };
}

/** The aspect ratio in a text such as `16:9` or `16/9`, width by height; undefined for any other text. */
function aspectRatioIn(value: string): number | undefined {
  const [, first, sign = '', second] = TWO_NUMBERS_PATTERN.exec(value) ?? [];
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
