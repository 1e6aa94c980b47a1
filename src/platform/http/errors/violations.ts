import type { TSchema } from '@sinclair/typebox';
import type { ErrorObject } from 'ajv';
import { hintFirst, likelyNames, meantWordHint, nearestName } from '../../ids/nearest.ts';
import { isJsonObject } from '../../values/json.ts';
import { withoutAbsentFields } from '../../values/present.ts';
import { type CallCorrection, siblingPath } from './corrections.ts';
import type { ApiError, SentField } from './errors.ts';
import { remedyOf, wordRemedy } from './remedies.ts';
import { excerptOf, type Remedy } from './remedy.ts';
import {
  findReshaping,
  type Reshaping,
  reshapingCorrections,
  sizeCorrections,
  undeclaredNamesIn,
} from './shapes.ts';

/**
 * Describes the violations of schemas in bodies, queries, paths and the parameters of ops, and says how to correct
 * them. Ajv must be `verbose`, so that its errors contain the value and the schema.
 */

/** A description of what is wrong with a field. */
export interface Diagnosis {
  message: string;
  /** Changes that certainly correct the field. Their paths are relative to the checked value. */
  corrections?: CallCorrection[];
  /** Words or numbers of which one was probably meant, or calls that accept the value that was sent. */
  suggest?: (string | number)[];
  /** Alternatives of which one was probably meant, as parameters of the call. */
  instead?: { parameters: Record<string, unknown> }[];
}

/** The words by which messages refer to the violated schema and to its fields. */
export interface ViolationSubject {
  /** How messages refer to the checked object: `this call`, or the name of the op whose parameters were checked. */
  owner: string;
  noun: 'field' | 'parameter';
  formats?: FormatDescriptions;
}

/**
 * The value of the schema keyword `within`: the field that holds other fields, which callers may have sent beside it
 * instead.
 */
export interface WithinKeyword {
  /**
   * The name of a field that holds an object, such as `parameters`. Which names it allows depends on the fields beside
   * it.
   */
  field: string;
  /** Returns the names that are allowed within the field, given the fields beside it. */
  names: (sent: Readonly<Record<string, unknown>>) => readonly string[];
  /**
   * Returns the fields that a key and its value mean. For example, `{"resize": {"width": 9}}` means op and parameters.
   */
  keyed?: (key: string, value: unknown) => Readonly<Record<string, unknown>> | undefined;
  /**
   * Whether the names within the field are checked. If so, a correction may move any other field into it, and the next
   * check says whether the name is right.
   */
  checks?: (sent: Readonly<Record<string, unknown>>) => boolean;
}

/**
 * A hint about what to send instead of a field, from the schema's `instead`: a sentence alone, or a sentence with the
 * field's new name (`rename`) or with the calls or fields to use for its value (`suggest`).
 */
export type FieldHint = string | { says: string; rename: string } | { says: string; suggest: string[] };

/** The path of a value in JSON: `/steps/0/op` is `['steps', '0', 'op']`. */
export function violationPathOf({ instancePath, params }: ErrorObject): string[] {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const last = missingProperty ?? additionalProperty;
  return last === undefined ? path : [...path, last];
}

/** Writes a path as text: `['regions', '0', 'x']` becomes `regions[0].x`. */
export function spellPath(path: readonly string[]): string {
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
export function missingFieldDiagnosis(
  param: string,
  sent: unknown,
  schema: Partial<TSchema>,
  subject: ViolationSubject,
): Diagnosis {
  const name = param.split('.').at(-1) ?? param;
  const { properties = {} } = schema;
  const field: TSchema | undefined = properties[name];
  const expected =
    field === undefined ? 'it' : `${describeExpectedValue(field, subject.formats)}${descriptionHint(field)}`;
  const message = `${param} is missing, and ${subject.owner} needs it: send ${expected}.`;
  const [unknown, ...others] = undeclaredNamesIn(sent, { properties });
  const suggest = field?.enum;
  if (unknown === undefined || !isJsonObject(sent)) return { message, ...withoutAbsentFields({ suggest }) };
  const reshaping = findReshaping({ names: [unknown, ...others], sent, schema });
  if (reshaping !== undefined)
    return {
      message: `${message} ${reshapingHint(reshaping)}`,
      corrections: reshapingCorrections(param, reshaping),
    };
  const isRenameLikely = nearestName(unknown, Object.keys(properties)) === name;
  return {
    message: `${message} ${unknown} was sent, which is not a field here.`,
    ...(isRenameLikely && { corrections: [{ param: siblingPath(param, unknown), rename: param }] }),
  };
}

/**
 * The first sentence of the description of a text field without a format, in parentheses, as a hint. It is empty for
 * every other field.
 */
function descriptionHint({ type, enum: words, pattern, examples, format, description }: TSchema): string {
  const isPlainText =
    type === 'string' && [words, pattern, examples, format].every((limit) => limit === undefined);
  const [sentence] = String(description ?? '').split(/\.(?: |$)/);
  return isPlainText && sentence ? ` (${sentence})` : '';
}

/** Fields of an object that its schema does not declare. */
interface UndeclaredFields {
  /** The path of the first of these fields. */
  param: string;
  /** The names of the fields, at least one. */
  names: readonly [string, ...string[]];
  /** The object with these fields. */
  sent: unknown;
  /**
   * The schema of the object. Its keyword `instead` says what to send in place of a field. `elsewhere` says in which
   * other call a field belongs. `within` names the field into which fields of another level belong.
   */
  schema: Partial<TSchema>;
}

/** The most wrong names for which corrections are sought. A call with more wrong names was not meant for this route. */
const MAX_CORRECTED_NAMES = 20;

export function undeclaredFieldsDiagnosis(
  { param, names, sent, schema }: UndeclaredFields,
  subject: ViolationSubject,
): Diagnosis {
  const [name, ...others] = names;
  const declared = Object.keys(schema.properties ?? {});
  if (name === '') return { message: `A ${subject.noun} has no name: write name=value, or leave it out.` };
  const reshaping = isJsonObject(sent) ? findReshaping({ names, sent, schema }) : undefined;
  if (reshaping !== undefined) {
    const message = `${reshapingHint(reshaping)} ${param} is not a ${subject.noun} of ${subject.owner}.`;
    return { message, corrections: reshapingCorrections(param, reshaping) };
  }
  const instead: FieldHint | undefined = Object.hasOwn(schema.instead ?? {}, name)
    ? schema.instead[name]
    : undefined;
  if (instead !== undefined) return replacementDiagnosis(param, instead);
  const meant = names
    .slice(0, MAX_CORRECTED_NAMES)
    .map((wrong) => ({ wrong, words: likelyFieldNames(wrong, sent, schema) }));
  const corrections = meant.flatMap(({ wrong, words }) => {
    const [word, ...more] = words.length === 0 ? pathCandidatesWithin(wrong, sent, schema) : words;
    if (word === undefined || more.length > 0) return [];
    return [{ param: siblingPath(param, wrong), rename: siblingPath(param, word) }];
  });
  const [first] = meant;
  const hint = others.length === 0 ? meantWordHint(first?.words ?? []) : replacementsHint(meant);
  const takes = declared.length === 0 ? 'takes none' : `takes ${declared.join(', ')}`;
  const message =
    typeof schema.elsewhere === 'string'
      ? `${param} is not a field here: ${schema.elsewhere}.`
      : `${param} is not a ${subject.noun} of ${subject.owner}, which ${takes}.`;
  const suggest = first?.words ?? [];
  return { message: hintFirst(hint, message), corrections, ...(suggest.length > 1 && { suggest }) };
}

/** The end of a message: `Send width=1200, height=630 in place of size.` */
function reshapingHint({ of, by, says }: Reshaping): string {
  if (says !== undefined) return says;
  const fields = Object.entries(by).map(([name, value]) => `${name}=${excerptOf(value)}`);
  return `Send ${fields.join(', ')} in place of ${of.join(', ')}.`;
}

function replacementDiagnosis(param: string, instead: FieldHint): Diagnosis {
  if (typeof instead === 'string') return { message: `${param} is not a field here: ${instead}.` };
  const message = `${param} is not a field here: ${instead.says}.`;
  if ('suggest' in instead) return { message, suggest: instead.suggest };
  return { message, corrections: [{ param, rename: siblingPath(param, instead.rename) }] };
}

/**
 * The names that were probably meant by a wrong name: those of the field into which it belongs, or otherwise those of
 * the object itself.
 */
function likelyFieldNames(wrong: string, sent: unknown, schema: Partial<TSchema>): string[] {
  const within: WithinKeyword | undefined = schema.within;
  if (within !== undefined && isJsonObject(sent)) {
    const words = likelyNames(wrong, within.names(sent));
    if (words.length > 0) return words.map((word) => `${within.field}.${word}`);
  }
  return likelyNames(wrong, Object.keys(schema.properties ?? {}));
}

/**
 * The path of a name in the field that `within` describes, in a list; an empty list if the names in that field are not
 * checked. The next check says whether the name exists there.
 */
function pathCandidatesWithin(name: string, sent: unknown, { within }: Partial<TSchema>): string[] {
  const context: WithinKeyword | undefined = within;
  return isJsonObject(sent) && context?.checks?.(sent) ? [`${context.field}.${name}`] : [];
}

/** The end of a message about several wrong names: ` Send x for left, y for top.`, or empty text. */
function replacementsHint(meant: readonly { wrong: string; words: readonly string[] }[]): string {
  const pairs = meant.flatMap(({ wrong, words: [word] }) =>
    word === undefined ? [] : [`${word} for ${wrong}`],
  );
  return pairs.length === 0 ? '' : ` Send ${pairs.join(', ')}.`;
}

/**
 * The diagnosis of a value that does not match its schema.
 * @param path the path of the value; '' for the whole checked value. The sentence refers to the value by `name`, which
 * is the path if absent.
 */
export function mismatchedValueDiagnosis(
  { path, name = path }: { path: string; name?: string },
  value: unknown,
  schema: TSchema,
  subject: ViolationSubject,
): Diagnosis {
  const message = `${name} is ${excerptOf(value)}, but ${describeExpectedValue(schema, subject.formats)} is expected.`;
  const { suggest, instead, ...remedy } = remedyOf(value, schema);
  const size = sizeCorrections(path, value);
  return {
    message: `${message}${size.length > 0 ? ' Send width and height, each as a number.' : remedy.says}`,
    corrections: size.length > 0 ? size : valueCorrections(path, remedy),
    ...withoutAbsentFields({
      suggest,
      instead: instead === undefined ? undefined : [{ parameters: { [path]: instead } }],
    }),
  };
}

function valueCorrections(param: string, { replace, remove, share }: Omit<Remedy, 'says'>): CallCorrection[] {
  if (param === '') return [];
  if (share !== undefined) return [{ param, share }];
  if (remove) return [{ param, remove }];
  return replace === undefined ? [] : [{ param, replace }];
}

/**
 * A suggestion for an unknown word: the end of a message, and the change if it is certain, or the likely words if there
 * are several.
 */
export interface SuggestedWord {
  hint: string;
  corrections: CallCorrection[];
  suggest?: (string | number)[];
}

/** The suggestion for a word that resembles no known word. */
export const NO_SUGGESTION: SuggestedWord = { hint: '', corrections: [] };

/**
 * Suggests the known word that an unknown word probably means.
 * @param path where the word was sent.
 */
export function suggestWord(word: string, known: readonly string[], path: string): SuggestedWord {
  const { suggest, ...remedy } = wordRemedy(word, known);
  return {
    hint: remedy.says,
    corrections: valueCorrections(path, remedy),
    ...withoutAbsentFields({ suggest }),
  };
}

/**
 * Descriptions of the values that the formats of a slice's schemas accept, such as `css-color`, in the style of
 * `describeExpectedValue`.
 */
type FormatDescriptions = Readonly<Record<string, string>>;

/** Describes the values that a schema accepts, for the sentence "… is expected". */
function describeExpectedValue(schema: TSchema, formats: FormatDescriptions = {}): string {
  const alternatives: TSchema[] | undefined = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined)
    return alternatives.map((one) => describeExpectedValue(one, formats)).join(' or ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (Array.isArray(schema.type)) {
    return schema.type
      .map((type: string) => describeExpectedValue({ ...schema, type }, formats))
      .join(' or ');
  }
  switch (schema.type) {
    case 'integer':
      return `a whole number${rangePhrase(schema)}`;
    case 'number':
      return `a number${rangePhrase(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${countPhrase(schema.minItems, schema.maxItems, 'entries')}${examplePhrase(schema)}`;
    case 'null':
      return 'null';
    case 'string':
      return textExpectation(schema, formats);
    default:
      return `an object${examplePhrase(schema)}`;
  }
}

function textExpectation(schema: TSchema, formats: FormatDescriptions): string {
  const words = formats[schema.format ?? ''];
  if (words !== undefined) return words;
  if (schema.examples !== undefined) return `text such as ${schema.examples.join(', ')}`;
  if (schema.pattern !== undefined) return `text that matches ${schema.pattern}`;
  return `text${countPhrase(schema.minLength, schema.maxLength, 'characters')}`;
}

function examplePhrase({ examples }: TSchema): string {
  return examples === undefined ? '' : `, such as ${JSON.stringify(examples[0])},`;
}

function rangePhrase(schema: TSchema): string {
  const min: number | undefined = schema.minimum ?? schema.exclusiveMinimum;
  const max: number | undefined = schema.maximum ?? schema.exclusiveMaximum;
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

/** ` of 1 to 20 entries`, ` that is not empty`; nothing without a bound. */
export function countPhrase(min: number | undefined, max: number | undefined, noun: string): string {
  if (min !== undefined && max !== undefined) {
    return min === max ? ` of ${min} ${noun}` : ` of ${min} to ${max} ${noun}`;
  }
  if (min === 1) return ' that is not empty';
  if (min !== undefined) return ` of at least ${min} ${noun}`;
  return max === undefined ? '' : ` of at most ${max} ${noun}`;
}

/**
 * The error for a word that a field does not take, with the words that it takes in its details.
 * @param sentence makes the message from the hint at the word that was probably meant. The hint is empty if no word is
 * similar.
 */
export function unknownWordError(
  { path, refuse }: SentField,
  received: unknown,
  allowed: readonly string[],
  sentence: (hint: string) => string,
  { hint, corrections, suggest }: SuggestedWord = suggestWord(String(received), allowed, path),
): ApiError {
  return refuse(sentence(hint), { received, allowed, ...withoutAbsentFields({ suggest }) }, corrections);
}
