import type { Static, TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type Options } from 'ajv';
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify';
import { didYouMean } from '../../ids/nearest.ts';
import { lazy } from '../lazy.ts';
import { ApiError } from './errors.ts';
import {
  mismatch,
  missing,
  pathOf,
  sentInstead,
  spell,
  undeclared,
  type ViolationSubject,
} from './violations.ts';

/** Formats are only documentation for OpenAPI; the rules of the slices check the values. */
const FORMATS = ['date-time', 'date', 'uri', 'email', 'int32', 'int64', 'double', 'binary'];

const AJV_OPTIONS: Options = {
  allErrors: false,
  // The schema of schemas is not compiled, which would cost the first call of each process a tenth of a second.
  validateSchema: false,
  // The errors contain the value and the schema of its field, for the message of the refusal.
  verbose: true,
  strict: true,
  strictTypes: false,
  // `elsewhere` and `instead` describe where fields belong that callers send to the wrong call. `documented` is the
  // part of a schema that only OpenAPI contains.
  keywords: ['example', 'elsewhere', 'instead', 'documented'],
  formats: Object.fromEntries(FORMATS.map((name) => [name, true])),
};

const CALL_SUBJECT: ViolationSubject = { owner: 'this call', noun: 'field' };

/** Types in bodies are not coerced. Queries and paths are text, and are coerced to the types of their schemas. */
const bodies = new Ajv(AJV_OPTIONS);
const texts = new Ajv({ ...AJV_OPTIONS, coerceTypes: 'array' });

/**
 * Validates every route by its schemas; the first violation becomes invalid_param on the invalid field. The schemas of
 * a route are compiled at its first call: with those of its responses, all of them take a tenth of the CPU of a start.
 */
export function installValidation(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const compiled = lazy(() => (httpPart === 'body' ? bodies : texts).compile(schema));
    return (data) => {
      const validate = compiled();
      if (validate(data)) return { value: data };
      return { error: validate.errors as unknown as Error };
    };
  });
  // The error is returned and not thrown, because Fastify calls this outside any promise, where a throw would end the
  // process.
  app.setSchemaErrorFormatter(validationFailure);
}

/**
 * Validates a value within a body, such as the entry of an import, like the body of a route.
 * @param name the name of the whole value in messages.
 * @throws ApiError (from the check) invalid_param on the invalid field.
 */
export function createCheck<T extends TSchema>(schema: T, name: string): (value: unknown) => Static<T> {
  const compiled = lazy(() => bodies.compile<Static<T>>(schema));
  return (value) => {
    const validate = compiled();
    if (validate(value)) return value;
    throw validationFailure(validate.errors ?? [], name);
  };
}

/**
 * The refusal of a schema violation.
 * @param context which part was checked: body, querystring, params, headers.
 */
export function validationFailure(
  errors: readonly (FastifySchemaValidationError | ErrorObject)[],
  context: string,
): ApiError {
  const first = errors[0] as ErrorObject | undefined;
  if (first === undefined)
    return new ApiError('invalid_param', 'The request does not match the documentation.', { param: context });
  const param = spell(pathOf(first)) || context;
  return new ApiError('invalid_param', sentence(param, first), { param, details: detailsOf(first) });
}

function sentence(param: string, error: ErrorObject): string {
  const { data, parentSchema = {}, params } = error;
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  if (missingProperty !== undefined)
    return `${missing(param, parentSchema.properties?.[missingProperty], CALL_SUBJECT)}${sentInstead(data, parentSchema)}`;
  if (additionalProperty !== undefined)
    return undeclared(param, additionalProperty, parentSchema, CALL_SUBJECT);
  const sent = param === 'body' ? 'The body' : param;
  const hint = didYouMean(String(data), ((parentSchema.enum ?? []) as unknown[]).map(String));
  return `${mismatch(sent, data, parentSchema as TSchema, CALL_SUBJECT)}${hint}`;
}

function detailsOf(error: ErrorObject): Record<string, unknown> | undefined {
  const { limit, allowedValues, type } = error.params as Record<string, unknown>;
  if (allowedValues !== undefined) return { allowed: allowedValues };
  if (type !== undefined) return { expected: type };
  return limit === undefined ? undefined : { limit };
}
