import type { TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject } from 'ajv';
import { COLOUR_NOTATIONS, cssColour } from '../../../../workers/image/operations/parameter.ts';
import {
  mismatch,
  missing,
  pathOf,
  spell,
  undeclared,
  type ViolationSubject,
} from '../../../platform/http/errors/violations.ts';
import { didYouMean } from '../../../platform/ids/nearest.ts';
import { isObject } from '../../../platform/values/json.ts';
import { present } from '../../../platform/values/present.ts';
import type { Violation } from '../op.ts';

/** Types are not coerced and defaults are not filled in, so that parameters are stored as sent. */
const ajv = new Ajv({
  strict: true,
  strictTypes: false,
  verbose: true,
  formats: { 'css-color': (text) => cssColour(text) !== undefined },
});
const FORMAT_WORDS = { 'css-color': `a CSS colour such as ${COLOUR_NOTATIONS}` };

/**
 * The first violation of the schema in `value`, or undefined. Each schema is compiled once, at its first use, and its
 * validator is kept for good: schemas are made once, not for each call.
 * @param owner the op or registry operation of the contract, for the message.
 * @returns a violation with the outermost invalid parameter as its key ('' when the value itself is invalid).
 */
export function firstViolation(schema: TSchema, value: unknown, owner: string): Violation | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  // A misspelt name is reported rather than the name that is missing because of it.
  const [unknown, ...others] = unknownKeys(schema, value);
  if (unknown !== undefined) return undeclaredKey([unknown], schema, owner, others);
  // For a choice between schemas, ajv lists the failures of each schema first and that of the choice last.
  const error = validate.errors?.at(-1);
  return error && violationOf(error, owner);
}

function violationOf(error: ErrorObject, owner: string): Violation {
  const path = pathOf(error);
  const { missingProperty } = error.params as Record<string, string | undefined>;
  const schema = error.parentSchema as TSchema;
  const [unknown, ...others] = unknownKeys(schema, error.data);
  if (unknown !== undefined) {
    const parent = path.slice(0, -1);
    return undeclaredKey([...parent, unknown], schema, spell(parent) || owner, others);
  }
  if (missingProperty !== undefined) {
    const message = missing(spell(path), schema.properties?.[missingProperty], contractOf(owner));
    return { key: path[0] ?? '', message, details: { missing: [spell(path)] } };
  }
  const name = spell(path) || `What is sent to ${owner}`;
  const message = `${mismatch(name, error.data, schema, contractOf(owner))}${hintFor(error.data, schema)}`;
  return {
    key: path[0] ?? '',
    message,
    details: { received: error.data, expected: schema.type, ...boundsOf(schema) },
  };
}

function contractOf(owner: string): ViolationSubject {
  return { owner, noun: 'parameter', formats: FORMAT_WORDS };
}

/** The names in an object that its schema does not declare. */
function unknownKeys(schema: TSchema, value: unknown): string[] {
  if (schema.additionalProperties !== false || !isObject(value)) return [];
  return Object.keys(value).filter((key) => !Object.hasOwn(schema.properties ?? {}, key));
}

function undeclaredKey(
  path: readonly string[],
  schema: TSchema,
  owner: string,
  others: readonly string[],
): Violation {
  const message = undeclared(spell(path), path.at(-1) ?? '', schema, contractOf(owner), others);
  return { key: path[0] ?? '', message, details: { allowed: Object.keys(schema.properties ?? {}) } };
}

/** A sentence with the likely meaning of such a value; empty if no meaning is known. */
function hintFor(value: unknown, schema: TSchema): string {
  if (typeof value !== 'string') return '';
  if (schema.format === 'css-color' && value === '') return ' In a URL write # as %23, as in %23ff8800.';
  if (schema.type === 'array' || schema.type === 'object') return ' In a URL or a form it is JSON text.';
  const words: unknown[] = schema.enum ?? [];
  if (value.toLowerCase() === 'auto' && words.includes('jpeg'))
    return ' No format is chosen by the service: leave it out for the format of the input, or see the op compress.';
  return didYouMean(value, words.map(String));
}

/** The accepted values, as data that a program can act on. */
function boundsOf(schema: TSchema): Record<string, unknown> {
  const { enum: allowed, minimum: min, maximum: max, pattern } = schema;
  return present({ allowed, min, max, pattern });
}
