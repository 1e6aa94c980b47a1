import type { TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { didYouMean } from '../names/nearest.ts';
import { isColour } from './colour.ts';
import { expectationOf } from './expectation.ts';
import type { Violation } from './op.ts';

/** Nothing is coerced and nothing is filled in: what is stored is what was sent. */
const ajv = new Ajv({
  strict: true,
  strictTypes: false,
  verbose: true,
  formats: { 'css-color': isColour },
});
const validators = new WeakMap<TSchema, ValidateFunction>();

/**
 * The first thing in `value` that breaks the schema, or undefined. Each schema is compiled once, when first used.
 * @param owner whose contract it is, for the message: an op or a registry operation.
 * @returns a violation whose key is the outermost parameter at fault ('' when the value itself is).
 */
export function firstViolation(schema: TSchema, value: unknown, owner: string): Violation | undefined {
  const validate = validatorOf(schema);
  if (validate(value)) return undefined;
  // A misspelt name is worth more than the one that is missing for it.
  const unknown = unknownKey(schema, value);
  if (unknown !== undefined) return undeclared([unknown], schema.properties, owner);
  // Of a choice between schemas, the failures of each come first and the choice's own comes last.
  const error = validate.errors?.at(-1);
  return error && violationOf(error, owner);
}

function validatorOf(schema: TSchema): ValidateFunction {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const compiled = ajv.compile(schema);
  validators.set(schema, compiled);
  return compiled;
}

function violationOf(error: ErrorObject, owner: string): Violation {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer);
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
  const declared: Record<string, TSchema> = error.parentSchema?.properties ?? {};
  if (missingProperty !== undefined) {
    const at = [...path, missingProperty];
    const schema = declared[missingProperty];
    const expected = schema === undefined ? 'send it' : `send ${expectationOf(schema)}`;
    const message = `${spell(at)} is missing, and ${owner} needs it: ${expected}.`;
    return { key: at[0] ?? '', message, details: { missing: [spell(at)] } };
  }
  if (additionalProperty !== undefined) {
    return undeclared([...path, additionalProperty], declared, spell(path) || owner);
  }
  return mismatch(path, error, owner);
}

function unknownKey(schema: TSchema, value: unknown): string | undefined {
  if (schema.additionalProperties !== false || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return undefined;
  return Object.keys(value).find((key) => !Object.hasOwn(schema.properties ?? {}, key));
}

function undeclared(path: readonly string[], declared: Record<string, TSchema>, owner: string): Violation {
  const allowed = Object.keys(declared);
  const takes = allowed.length === 0 ? 'takes none' : `takes ${allowed.join(', ')}`;
  const hint = didYouMean(path.at(-1) ?? '', allowed);
  const message = `${spell(path)} is no parameter of ${owner}, which ${takes}.${hint}`;
  return { key: path[0] ?? '', message, details: { allowed } };
}

function mismatch(path: string[], error: ErrorObject, owner: string): Violation {
  const schema = error.parentSchema as TSchema;
  const place = spell(path) || `What is sent to ${owner}`;
  const message = `${place} is ${shown(error.data)}, but ${expectationOf(schema)} is expected.${hintFor(error.data, schema)}`;
  return { key: path[0] ?? '', message, details: { received: error.data, ...boundsOf(schema) } };
}

/** What such a value is most often meant to be, as a sentence of its own. */
function hintFor(value: unknown, schema: TSchema): string {
  if (typeof value !== 'string') return '';
  if (schema.format === 'css-color' && value === '') return ' In a URL write # as %23, as in %23ff8800.';
  if (schema.type === 'array' || schema.type === 'object') return ' In a URL or a form it is JSON text.';
  const words: unknown[] = schema.enum ?? [];
  if (value.toLowerCase() === 'auto' && words.includes('jpeg'))
    return ' No format is chosen by the service: leave it out for the format of the input, or see the op compress.';
  return didYouMean(value, words.map(String));
}

/** What is accepted, as data that a program can act on. */
function boundsOf(schema: TSchema): Record<string, unknown> {
  const { enum: allowed, minimum: min, maximum: max } = schema;
  return {
    ...(allowed !== undefined && { allowed }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
  };
}

/** `['regions', '0', 'x']` becomes `regions[0].x`. */
function spell(path: readonly string[]): string {
  return path.reduce((text, part) => {
    if (/^\d+$/.test(part) && text !== '') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

const SHOWN_CHARACTERS = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
