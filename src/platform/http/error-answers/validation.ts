import type { Static, TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type Options } from 'ajv';
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify';
import { didYouMean } from '../../names/nearest.ts';
import { ApiError } from '../errors.ts';
import { type Contract, mismatch, missing, pathOf, sentInstead, spell, undeclared } from './violations.ts';

const COMMON: Options = {
  allErrors: false,
  // The value that was sent, and the schema of its field, for the sentence of the refusal.
  verbose: true,
  strict: true,
  strictTypes: false,
  // `elsewhere`: where the field of another call goes, and `instead`: the same of one field by its name. `documented`:
  // what OpenAPI says beyond what is checked by schema.
  keywords: ['example', 'elsewhere', 'instead', 'documented'],
  formats: FORMATS(),
};

const CALL: Contract = { owner: 'this call', noun: 'field' };

/** Bodies are taken as they are typed; what comes in a query or a path is text, and is read as its schema's type. */
const bodies = new Ajv(COMMON);
const texts = new Ajv({ ...COMMON, coerceTypes: 'array' });

/** Validates every route by its schemas; the first violation becomes invalid_param on the field at fault. */
export function installValidation(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const validate = (httpPart === 'body' ? bodies : texts).compile(schema);
    return (data) => {
      if (validate(data)) return { value: data };
      return { error: validate.errors as unknown as Error };
    };
  });
  // Answered, not thrown: Fastify calls this outside of any promise, where a throw would end the process.
  app.setSchemaErrorFormatter(validationFailure);
}

/**
 * The check that a route's body gets, for what reaches a slice within a body: the entries of an import.
 * @param name what a sentence about the whole value calls it.
 * @throws ApiError (from the check) invalid_param on the field at fault.
 */
export function checkOf<T extends TSchema>(schema: T, name: string): (value: unknown) => Static<T> {
  const validate = bodies.compile<Static<T>>(schema);
  return (value) => {
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
    return new ApiError('invalid_param', 'The request is not as documented.', { param: context });
  const param = spell(pathOf(first)) || context;
  return new ApiError('invalid_param', sentence(param, first), { param, details: detailsOf(first) });
}

function sentence(param: string, error: ErrorObject): string {
  const { data, parentSchema = {}, params } = error;
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  if (missingProperty !== undefined)
    return `${missing(param, parentSchema.properties?.[missingProperty], CALL)}${sentInstead(data, parentSchema)}`;
  if (additionalProperty !== undefined) return undeclared(param, additionalProperty, parentSchema, CALL);
  const sent = param === 'body' ? 'The body' : param;
  const hint = didYouMean(String(data), ((parentSchema.enum ?? []) as unknown[]).map(String));
  return `${mismatch(sent, data, parentSchema as TSchema, CALL)}${hint}`;
}

function detailsOf(error: ErrorObject): Record<string, unknown> | undefined {
  const { limit, allowedValues, type } = error.params as Record<string, unknown>;
  if (allowedValues !== undefined) return { allowed: allowedValues };
  if (type !== undefined) return { expected: type };
  return limit === undefined ? undefined : { limit };
}

/** Formats are documentation in OpenAPI; the rules of the slices decide what is accepted. */
function FORMATS(): Record<string, true> {
  return {
    'date-time': true,
    date: true,
    uri: true,
    email: true,
    int32: true,
    int64: true,
    double: true,
    binary: true,
  };
}
