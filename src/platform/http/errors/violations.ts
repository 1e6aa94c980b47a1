import type { TSchema } from '@sinclair/typebox';
import type { ErrorObject } from 'ajv';
import { hintFirst, likelyNames, meantWords, nearest } from '../../ids/nearest.ts';
import { isObject, startOfJson } from '../../values/json.ts';
import { expectationOf, type FormatWords } from './expectation.ts';
import { besideIn, type Mend } from './mends.ts';

/**
 * Words all violations of schemas, in bodies, queries, paths, and the parameters of ops, and says how to correct them.
 * Ajv must be `verbose`, so that its errors contain the value and the schema.
 */

/** What is wrong with a field. */
export interface Diagnosis {
  message: string;
  /** Changes that certainly correct it. Paths are relative to the checked value. */
  mends?: Mend[];
  /** Words of which one was probably meant. */
  suggest?: string[];
}

/** The subject of a violated schema, and the names of its fields. */
export interface ViolationSubject {
  /** `this call`, or the name of an op or an operation. */
  owner: string;
  noun: 'field' | 'parameter';
  formats?: FormatWords;
}

/** Where fields of another level belong, for the `within` of a schema. */
export interface Within {
  /** The field that takes them. */
  field: string;
  /** The field names that belong there, depending on the other fields of the object. */
  names: (sent: Readonly<Record<string, unknown>>) => readonly string[];
}

/** What to send instead of a field, for the `instead` of a schema: a sentence, or another name of the field. */
export type Instead = string | { says: string; rename: string };

/** The path of a value in JSON: `/steps/0/op` is `['steps', '0', 'op']`. */
export function pathOf({ instancePath, params }: ErrorObject): string[] {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const last = missingProperty ?? additionalProperty;
  return last === undefined ? path : [...path, last];
}

/** Writes a path as text: `['regions', '0', 'x']` becomes `regions[0].x`. */
export function spell(path: readonly string[]): string {
  return path.reduce((text, part) => {
    if (/^\d+$/.test(part) && text !== '') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/**
 * The diagnosis of a missing field.
 * @param param the path of the missing field.
 * @param sent the object that lacks it, and its schema.
 */
export function missingField(
  param: string,
  sent: unknown,
  { properties = {} }: Partial<TSchema>,
  contract: ViolationSubject,
): Diagnosis {
  const name = param.split('.').at(-1) ?? param;
  const schema: TSchema | undefined = properties[name];
  const expected =
    schema === undefined ? 'it' : `${expectationOf(schema, contract.formats)}${descriptionHint(schema)}`;
  const message = `${param} is missing, and ${contract.owner} needs it: send ${expected}.`;
  const unknown = isObject(sent)
    ? Object.keys(sent).find((key) => !Object.hasOwn(properties, key))
    : undefined;
  if (unknown === undefined) return { message };
  const isMeant = nearest(unknown, Object.keys(properties)) === name;
  return {
    message: `${message} ${unknown} was sent, which is not a field here.`,
    ...(isMeant && { mends: [{ param: besideIn(param, unknown), rename: param }] }),
  };
}

/** The first sentence of a description in parentheses, for text without a format; empty for everything else. */
function descriptionHint({ type, enum: words, pattern, examples, format, description }: TSchema): string {
  const isPlain =
    type === 'string' && [words, pattern, examples, format].every((limit) => limit === undefined);
  const [sentence] = String(description ?? '').split(/\.(?: |$)/);
  return isPlain && sentence ? ` (${sentence})` : '';
}

/** Fields of an object that its schema does not have. */
export interface Undeclared {
  /** The path of the first. */
  param: string;
  /** Their names, at least one. */
  names: readonly [string, ...string[]];
  /** The object with these fields. */
  sent: unknown;
  /**
   * The schema of the object. `instead` says what to send instead of a field, `elsewhere` says in which other call a
   * field belongs, and `within` names the field to which those of another level belong.
   */
  schema: Partial<TSchema>;
}

/** The most wrong names for which others are looked for: a call with more of them was not meant for this route. */
const MAX_MEANT_NAMES = 20;

export function undeclaredFields(
  { param, names, sent, schema }: Undeclared,
  contract: ViolationSubject,
): Diagnosis {
  const [name, ...others] = names;
  const declared = Object.keys(schema.properties ?? {});
  if (name === '') return { message: `A ${contract.noun} has no name: write name=value, or leave it out.` };
  const instead: Instead | undefined = Object.hasOwn(schema.instead ?? {}, name)
    ? schema.instead[name]
    : undefined;
  if (instead !== undefined) return replacedBy(param, instead);
  const meant = names
    .slice(0, MAX_MEANT_NAMES)
    .map((wrong) => ({ wrong, words: wordsFor(wrong, sent, schema) }));
  const mends = meant.flatMap(({ wrong, words: [word, ...more] }) =>
    word === undefined || more.length > 0
      ? []
      : [{ param: besideIn(param, wrong), rename: besideIn(param, word) }],
  );
  const [first] = meant;
  const hint = others.length === 0 ? meantWords(first?.words ?? []) : replacements(meant);
  const takes = declared.length === 0 ? 'takes none' : `takes ${declared.join(', ')}`;
  const message =
    typeof schema.elsewhere === 'string'
      ? `${param} is not a field here: ${schema.elsewhere}.`
      : `${param} is not a ${contract.noun} of ${contract.owner}, which ${takes}.`;
  const suggest = first?.words ?? [];
  return { message: hintFirst(hint, message), mends, ...(suggest.length > 1 && { suggest }) };
}

function replacedBy(param: string, instead: Instead): Diagnosis {
  if (typeof instead === 'string') return { message: `${param} is not a field here: ${instead}.` };
  const mends = [{ param, rename: besideIn(param, instead.rename) }];
  return { message: `${param} is not a field here: ${instead.says}.`, mends };
}

/**
 * The names that were probably meant by a wrong name: names within the field where it belongs, else names of the object
 * itself.
 */
function wordsFor(wrong: string, sent: unknown, schema: Partial<TSchema>): string[] {
  const within: Within | undefined = schema.within;
  if (within !== undefined && isObject(sent)) {
    const words = likelyNames(wrong, within.names(sent));
    if (words.length > 0) return words.map((word) => `${within.field}.${word}`);
  }
  return likelyNames(wrong, Object.keys(schema.properties ?? {}));
}

/** The end of a message about several wrong names: ` Send x for left, y for top.`, or empty text. */
function replacements(meant: readonly { wrong: string; words: readonly string[] }[]): string {
  const pairs = meant.flatMap(({ wrong, words: [word] }) =>
    word === undefined ? [] : [`${word} for ${wrong}`],
  );
  return pairs.length === 0 ? '' : ` Send ${pairs.join(', ')}.`;
}

/**
 * The diagnosis of a value that does not match its schema.
 * @param path of the value, '' for the whole checked value, which the sentence calls `name`.
 */
export function mismatchedValue(
  { path, name = path }: { path: string; name?: string },
  value: unknown,
  schema: TSchema,
  contract: ViolationSubject,
): Diagnosis {
  const message = `${name} is ${excerptOf(value)}, but ${expectationOf(schema, contract.formats)} is expected.`;
  const { says, replace, suggest } = remedyOf(value, schema);
  const mends = mendsBy(path, value, replace);
  return { message: `${message}${says}`, mends, ...(suggest !== undefined && { suggest }) };
}

function mendsBy(param: string, value: unknown, replace: unknown): Mend[] {
  if (param === '') return [];
  if (value === null) return [{ param, remove: true }];
  return replace === undefined ? [] : [{ param, replace }];
}

/** How to correct a wrong value: a sentence, and the value that was certainly meant, or the words to choose from. */
interface Remedy {
  says: string;
  replace?: unknown;
  suggest?: string[];
}

/**
 * The probable meaning of a nearly valid value: null for a missing one, a percentage for a share, a number as text or
 * with a unit, a misspelt word.
 */
function remedyOf(value: unknown, schema: TSchema): Remedy {
  if (value === null) return { says: ' Leave it out instead of sending null.' };
  if (isListOf(schema, 'string') && typeof value === 'string')
    return { says: ` Send a list of one: [${excerptOf(value)}].`, replace: [value] };
  if (isListOf(schema, 'object') && isObject(value))
    return { says: ' Send a list of one.', replace: [value] };
  if (typeof schema.pattern === 'string' && typeof value === 'string')
    return separatorRemedy(value, schema.pattern);
  if (schema.type === 'boolean') return flagRemedy(value);
  if (Array.isArray(value)) return wordsRemedy(value, wordsOf(schema));
  const number = alternativesOf(schema).find(({ type }) => NUMBERS.includes(type));
  const remedy = number === undefined ? { says: '' } : numberRemedy(value, number);
  return remedy.says === '' && typeof value === 'string' ? wordRemedy(value, wordsOf(schema)) : remedy;
}

/** The strings that a schema accepts, even if it accepts numbers as well. */
function wordsOf(schema: TSchema): string[] {
  return alternativesOf(schema)
    .flatMap((one) => (one.const === undefined ? (one.enum ?? []) : [one.const]))
    .map(String);
}

function alternativesOf(schema: TSchema): TSchema[] {
  return schema.anyOf ?? schema.oneOf ?? [schema];
}

function wordRemedy(value: string, known: readonly string[]): Remedy {
  const words = likelyNames(value, known);
  const says = meantWords(words);
  return words.length === 1
    ? { says, replace: words[0] }
    : { says, ...(words.length > 1 && { suggest: words }) };
}

/**
 * The remedy for a list of words, some of them misspelt, where one word is expected. A list that is longer than the
 * number of known words gets none.
 */
function wordsRemedy(value: readonly unknown[], known: readonly string[]): Remedy {
  if (value.length === 0 || value.length > known.length) return { says: '' };
  const meant = value.map((word) => likelyNames(String(word), known));
  const replace = meant.flatMap((words) => (words.length === 1 ? words : []));
  return replace.length === value.length
    ? { says: ` Did you mean ${replace.join(', ')}?`, replace }
    : { says: '' };
}

/** What an unknown word probably means: the end of a message, and the change if it is certain. */
export interface SuggestedWord {
  hint: string;
  mends: Mend[];
}

/** @param path where the word was sent. */
export function meantWord(word: string, known: readonly string[], path: string): SuggestedWord {
  const { says, replace } = wordRemedy(word, known);
  return { hint: says, mends: mendsBy(path, word, replace) };
}

const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

function flagRemedy(value: unknown): Remedy {
  const word = String(value).toLowerCase();
  const flag = Object.hasOwn(FLAGS, word) ? FLAGS[word] : undefined;
  return flag === undefined ? { says: '' } : { says: ` Send ${flag}.`, replace: flag };
}

function isListOf({ type, items }: TSchema, entry: 'string' | 'object'): boolean {
  return type === 'array' && [items?.type, items?.documented?.type].includes(entry);
}

const TWO_NUMBERS = /^\s*(\d+)\s*([x×/:-]|\.{2,3})\s*(\d+)\s*$/i;
/** Signs that patterns have between two numbers. */
const SEPARATORS = [':', '..', 'x'];

/** The remedy for two numbers with a wrong separator, such as 16/9 for 16:9. A ratio is never a size in pixels. */
function separatorRemedy(value: string, pattern: string): Remedy {
  const [, first, sent = '', second] = TWO_NUMBERS.exec(value) ?? [];
  const accepted = new RegExp(pattern);
  const signs = /[:/]/.test(sent) ? SEPARATORS.filter((sign) => sign !== 'x') : SEPARATORS;
  const written = signs.map((sign) => `${first}${sign}${second}`);
  const replace = first === undefined ? undefined : written.find((text) => accepted.test(text));
  return replace === undefined ? { says: '' } : { says: ` Send ${replace}.`, replace };
}

const NUMBERS = ['integer', 'number'];
/** Longer texts are not numbers that somebody wrote, and the search for one would take the square of their length. */
const MAX_NUMBER_CHARACTERS = 64;
const NUMBER_AS_TEXT =
  /^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(px|%|deg|°|dpi|fps|x|bytes|k|kb|mb|kib|mib)?\s*$/i;
/** Matches a whole number with a point between its thousands, which may also be a number with three decimals. */
const THOUSANDS = /^[-+]?\d{1,3}\.\d{3}$/;
const BYTES_OF: Readonly<Record<string, number>> = {
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  mb: 1e6,
  mib: 1024 ** 2,
};

function numberRemedy(value: unknown, schema: TSchema): Remedy {
  const text = String(value);
  if (text.length > MAX_NUMBER_CHARACTERS) return { says: '' };
  const [, digits, unit] = NUMBER_AS_TEXT.exec(text) ?? [];
  if (digits === undefined || (schema.type === 'integer' && THOUSANDS.test(digits))) return { says: '' };
  const number = Number(digits);
  if (unit === '%') return shareRemedy(number, schema);
  const factor = BYTES_OF[unit?.toLowerCase() ?? ''];
  if (factor !== undefined) {
    const replace = Math.round(number * factor);
    return isAtMost(number * factor, schema) ? { says: ` Send ${replace}.`, replace } : { says: '' };
  }
  if (unit) return { says: ` Send ${number} without the unit.`, replace: number };
  if (isShareOfHundred(number, schema)) {
    const replace = Math.round(number * 100);
    return { says: ` Did you mean ${replace}?`, replace };
  }
  const isWritten = typeof value === 'string' && (schema.type === 'number' || Number.isInteger(number));
  if (!isWritten) return { says: '' };
  return { says: ` Send ${number}${digits === String(number) ? ' without quotes' : ''}.`, replace: number };
}

function isAtMost(value: number, { maximum = Number.POSITIVE_INFINITY }: TSchema): boolean {
  return value <= maximum;
}

/** The remedy for a number with a per cent sign. A whole number above 100 is a number of pixels, and never a share. */
function shareRemedy(percent: number, { type, maximum = Number.POSITIVE_INFINITY }: TSchema): Remedy {
  if (maximum === 100) return { says: ` Send ${percent} without the unit.`, replace: percent };
  if (maximum === 1) return { says: ` Send ${percent / 100}.`, replace: percent / 100 };
  const says =
    type === 'number'
      ? ' A share is not taken: send a number without a unit.'
      : ' A share is not taken: read the size of the picture (POST /api/v1/images/metadata), and send pixels.';
  return { says };
}

function isShareOfHundred(value: number, { type, minimum, maximum }: TSchema): boolean {
  return type === 'integer' && minimum === 1 && maximum === 100 && value > 0 && value < 1;
}

const MAX_EXCERPT_CHARACTERS = 60;

/** The beginning of a value as JSON. The rest is not written, because a body may have megabytes. */
function excerptOf(value: unknown): string {
  const text = startOfJson(value, MAX_EXCERPT_CHARACTERS + 1);
  return text.length <= MAX_EXCERPT_CHARACTERS ? text : `${text.slice(0, MAX_EXCERPT_CHARACTERS)}…`;
}
