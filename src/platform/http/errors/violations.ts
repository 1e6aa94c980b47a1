import type { TSchema } from '@sinclair/typebox';
import type { ErrorObject } from 'ajv';
import { didYouMean, meantInstead } from '../../ids/nearest.ts';
import { expectationOf, type FormatWords } from './expectation.ts';

/**
 * Writes the messages for all violations of schemas: in bodies, queries, paths, and the parameters of ops. Ajv must be
 * `verbose`, so that its errors contain the value and the schema.
 */

/** The subject of a violated schema, and the names of its fields. */
export interface ViolationSubject {
  /** `this call`, or the name of an op or an operation. */
  owner: string;
  noun: 'field' | 'parameter';
  formats?: FormatWords;
}

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

/** `['regions', '0', 'x']` becomes `regions[0].x`. */
export function spell(path: readonly string[]): string {
  return path.reduce((text, part) => {
    if (/^\d+$/.test(part) && text !== '') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** @param param the path of the missing field. */
export function missing(param: string, schema: TSchema | undefined, contract: ViolationSubject): string {
  const expected =
    schema === undefined ? 'it' : `${expectationOf(schema, contract.formats)}${descriptionHint(schema)}`;
  return `${param} is missing, and ${contract.owner} needs it: send ${expected}.`;
}

/** The first sentence of the description of a text without a format, in parentheses; empty for everything else. */
function descriptionHint({ type, enum: words, pattern, examples, format, description }: TSchema): string {
  const isPlain =
    type === 'string' && [words, pattern, examples, format].every((limit) => limit === undefined);
  const [sentence] = String(description ?? '').split(/\.(?: |$)/);
  return isPlain && sentence ? ` (${sentence})` : '';
}

/** The end of a message about a missing field, which names a sent unknown field that may be its misspelling. */
export function sentInstead(sent: unknown, schema: Partial<TSchema>): string {
  const { properties } = schema;
  if (properties === undefined || typeof sent !== 'object' || sent === null) return '';
  const unknown = Object.keys(sent).find((name) => !Object.hasOwn(properties, name));
  return unknown === undefined ? '' : ` ${unknown} was sent, which is not a field here.`;
}

/**
 * @param others further names that are not declared.
 * @param schema the schema of the object without this field. Its `instead` names what to send in place of a field, and
 *   its `elsewhere` names where a field of another call belongs.
 */
export function undeclared(
  param: string,
  name: string,
  schema: Partial<TSchema>,
  contract: ViolationSubject,
  others: readonly string[] = [],
): string {
  const declared = Object.keys(schema.properties ?? {});
  if (name === '') return `A ${contract.noun} has no name: write name=value, or leave it out.`;
  const instead: unknown = Object.hasOwn(schema.instead ?? {}, name) ? schema.instead[name] : undefined;
  if (typeof instead === 'string') return `${param} is not a field here: ${instead}.`;
  const hint = others.length === 0 ? didYouMean(name, declared) : meantInstead([name, ...others], declared);
  if (typeof schema.elsewhere === 'string')
    return `${param} is not a field here: ${schema.elsewhere}.${hint}`;
  const takes = declared.length === 0 ? 'takes none' : `takes ${declared.join(', ')}`;
  return `${param} is not a ${contract.noun} of ${contract.owner}, which ${takes}.${hint}`;
}

export function mismatch(param: string, value: unknown, schema: TSchema, contract: ViolationSubject): string {
  return `${param} is ${excerptOf(value)}, but ${expectationOf(schema, contract.formats)} is expected.${remedyOf(value, schema)}`;
}

/**
 * The probable meaning of a nearly valid value: null for a missing one, a share for per cent, a number as text or with
 * a unit.
 */
function remedyOf(value: unknown, schema: TSchema): string {
  if (value === null) return ' Leave it out instead of sending null.';
  if (isListOfText(schema) && typeof value === 'string') return ` Send a list of one: [${excerptOf(value)}].`;
  if (!NUMBERS.includes(schema.type)) return '';
  const [, digits, unit] = NUMBER_AS_TEXT.exec(String(value)) ?? [];
  if (digits === undefined) return '';
  const number = Number(digits);
  if (unit === '%') return shareRemedy(number, schema);
  const factor = BYTES_OF[unit?.toLowerCase() ?? ''];
  if (factor !== undefined)
    return isAtMost(number * factor, schema) ? ` Send ${Math.round(number * factor)}.` : '';
  if (unit) return ` Send ${digits} without the unit.`;
  if (isShareOfHundred(number, schema)) return ` Did you mean ${Math.round(number * 100)}?`;
  const isWritten = typeof value === 'string' && (schema.type === 'number' || Number.isInteger(number));
  return isWritten ? ` Send ${digits} without quotes.` : '';
}

function isListOfText({ type, items }: TSchema): boolean {
  return type === 'array' && [items?.type, items?.documented?.type].includes('string');
}

const NUMBERS = ['integer', 'number'];
const NUMBER_AS_TEXT = /^(-?\d+(?:\.\d+)?)\s*(px|%|deg|°|dpi|fps|x|bytes|k|kb|mb|kib|mib)?$/i;
const BYTES_OF: Readonly<Record<string, number>> = {
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  mb: 1e6,
  mib: 1024 ** 2,
};

function isAtMost(value: number, { maximum = Number.POSITIVE_INFINITY }: TSchema): boolean {
  return value <= maximum;
}

/** What to send for a number with a per cent sign. A whole number above 100 is one of pixels, and never a share. */
function shareRemedy(percent: number, { type, maximum = Number.POSITIVE_INFINITY }: TSchema): string {
  if (maximum === 100) return ` Send ${percent} without the unit.`;
  if (maximum === 1) return ` Send ${percent / 100}.`;
  if (type === 'number') return ' A share is not taken: send a number without a unit.';
  return ' A share is not taken: read the size of the picture (POST /api/v1/images/metadata), and send pixels.';
}

function isShareOfHundred(value: number, { type, minimum, maximum }: TSchema): boolean {
  return type === 'integer' && minimum === 1 && maximum === 100 && value > 0 && value < 1;
}

const EXCERPT_CHARACTERS = 60;

function excerptOf(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= EXCERPT_CHARACTERS ? text : `${text.slice(0, EXCERPT_CHARACTERS)}…`;
}
