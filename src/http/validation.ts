import type { Static, TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type Options } from 'ajv';
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify';
import { didYouMean } from '../names/nearest.ts';
import { ApiError } from './errors.ts';

const COMMON: Options = {
  allErrors: false,
  // What was sent, and what its field says of itself, for the sentence of the refusal.
  verbose: true,
  strict: true,
  strictTypes: false,
  keywords: ['example', 'elsewhere'],
  formats: FORMATS(),
};

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
  const first = errors[0];
  if (first === undefined)
    return new ApiError('invalid_param', 'The request is not as documented.', { param: context });
  const param = paramOf(first) || context;
  return new ApiError('invalid_param', sentence(param, first), { param, details: detailsOf(first) });
}

/** `/steps/0/op` and a missing `name` below it become `steps[0].op.name`. */
function paramOf(error: FastifySchemaValidationError | ErrorObject): string {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
  const last = missingProperty ?? additionalProperty;
  if (last !== undefined) path.push(last);
  return path.reduce((text, part) => {
    if (/^\d+$/.test(part)) return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

function sentence(param: string, error: FastifySchemaValidationError | ErrorObject): string {
  const { limit, allowedValues, type, additionalProperty } = error.params as Record<string, unknown>;
  const { data, parentSchema } = error as ErrorObject;
  switch (error.keyword) {
    case 'required':
      return `${param} is missing: send it.`;
    case 'additionalProperties':
      return undeclared(param, String(additionalProperty), parentSchema);
    case 'enum': {
      const allowed = (allowedValues as unknown[]).map(String);
      return `${param} must be one of ${allowed.join(', ')}.${didYouMean(String(data), allowed)}`;
    }
    case 'type':
      return param === 'body'
        ? `The body must be a JSON ${type}.`
        : `${param} is ${shown(data)}, but ${expected(type, parentSchema)} is expected.`;
    case 'maxLength':
      return `${param} is too long: at most ${limit} characters are allowed.`;
    case 'minLength':
      return `${param} is too short: at least ${limit} ${limit === 1 ? 'character is' : 'characters are'} needed.`;
    case 'maxItems':
      return `${param} has too many entries: at most ${limit} are allowed.`;
    case 'minItems':
      return `${param} has too few entries: at least ${limit} ${limit === 1 ? 'is' : 'are'} needed.`;
    case 'minimum':
    case 'exclusiveMinimum':
    case 'maximum':
    case 'exclusiveMaximum':
      return `${param} is ${shown(data)}, but ${expected(parentSchema?.type, parentSchema)} is expected.`;
    default:
      return `${param} is not acceptable: it ${error.message ?? 'breaks its rule'}.`;
  }
}

/** @param schema of the object that has no such field; its `elsewhere` says where the field of another call would go. */
function undeclared(param: string, name: string, schema: ErrorObject['parentSchema']): string {
  if (typeof schema?.elsewhere === 'string') return `${param} is not a field here: ${schema.elsewhere}.`;
  const hint = didYouMean(name, Object.keys(schema?.properties ?? {}));
  return `${param} is not a field of this call: leave it out.${hint}`;
}

const TYPES: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  string: 'text',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** What a field takes, with its bounds: `a whole number from 60 to 604800`. */
function expected(type: unknown, schema: ErrorObject['parentSchema']): string {
  const noun = [type]
    .flat()
    .map((one) => TYPES[String(one)] ?? String(one))
    .join(' or ');
  const [min, max] = [
    schema?.minimum ?? schema?.exclusiveMinimum,
    schema?.maximum ?? schema?.exclusiveMaximum,
  ];
  if (min !== undefined && max !== undefined) return `${noun} from ${min} to ${max}`;
  if (min !== undefined) return `${noun} of at least ${min}`;
  return max === undefined ? noun : `${noun} of at most ${max}`;
}

const SHOWN_CHARACTERS = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
}

function detailsOf(error: FastifySchemaValidationError | ErrorObject): Record<string, unknown> | undefined {
  const { limit, allowedValues } = error.params as Record<string, unknown>;
  if (allowedValues !== undefined) return { allowed: allowedValues };
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
