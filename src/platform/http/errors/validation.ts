import type { Static, TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type Options } from 'ajv';
import type { FastifyInstance, FastifyRequest, FastifySchemaValidationError } from 'fastify';
import { isJsonObject } from '../../values/json.ts';
import { withoutAbsentFields } from '../../values/present.ts';
import { lazy } from '../lazy.ts';
import { type ApiError, invalidParamError } from './errors.ts';
import { undeclaredNamesIn } from './shapes.ts';
import {
  type Diagnosis,
  mismatchedValueDiagnosis,
  missingFieldDiagnosis,
  spellPath,
  undeclaredFieldsDiagnosis,
  type ViolationSubject,
  violationPathOf,
} from './violations.ts';

/** Formats that only document a field in OpenAPI. The rules of the slices check the values. */
const DOCUMENTING_FORMATS = ['date-time', 'date', 'uri', 'email', 'int32', 'int64', 'double', 'binary'];

const AJV_OPTIONS: Options = {
  allErrors: false,
  // The meta-schema is not compiled, because that would add a tenth of a second to the first call of each process.
  validateSchema: false,
  // Errors then contain the value and the schema of its field, for the message.
  verbose: true,
  strict: true,
  strictTypes: false,
  // `elsewhere` says to which other call a field belongs, and `within` to which other level of this call. `instead`
  // says what to send in place of a field. `clamped` has the bounds to which a value is moved. `documented` is the part
  // of a schema that only OpenAPI contains.
  keywords: ['example', 'elsewhere', 'instead', 'within', 'clamped', 'documented'],
  formats: Object.fromEntries(DOCUMENTING_FORMATS.map((name) => [name, true])),
};

const CALL_SUBJECT: ViolationSubject = { owner: 'this call', noun: 'field' };

/** Types in bodies are not coerced. Queries and paths are text, and are coerced to the types of their schemas. */
const bodyAjv = new Ajv(AJV_OPTIONS);
const textAjv = new Ajv({ ...AJV_OPTIONS, coerceTypes: 'array' });

/**
 * Validates every route by its schemas; the first violation becomes invalid_param on the invalid field. The schemas of
 * a route are compiled at its first call, because compiling those of all routes, including their responses, would take
 * a tenth of the CPU time of a start.
 */
export function installValidation(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const compiled = lazy(() => (httpPart === 'body' ? bodyAjv : textAjv).compile(schema));
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
 * Validates a value within a body, such as an entry of an import, in the same way as the body of a route.
 * @param name the name of the whole value in messages.
 * @throws ApiError (from the check) invalid_param on the invalid field.
 */
export function createValidator<T extends TSchema>(schema: T, name: string): (value: unknown) => Static<T> {
  const compiled = lazy(() => bodyAjv.compile<Static<T>>(schema));
  return (value) => {
    const validate = compiled();
    if (validate(value)) return value;
    throw validationFailure(validate.errors ?? [], name);
  };
}

/**
 * Checks a query and a body by the schemas of the route of a request.
 * @throws ApiError invalid_param on the invalid field.
 */
export function checkQueryAndBody(
  request: FastifyRequest,
  { query, body }: { query: object; body: unknown },
): void {
  for (const [part, value] of [
    // The query is copied, because the validation coerces values in place.
    ['querystring', { ...query }],
    ['body', body],
  ] as const) {
    const result: unknown = request.getValidationFunction(part)?.(value as object);
    if (isJsonObject(result) && Array.isArray(result.error)) throw validationFailure(result.error, part);
  }
}

/**
 * The error for a schema violation.
 * @param context which part was checked: body, querystring, params, headers.
 */
export function validationFailure(
  errors: readonly (FastifySchemaValidationError | ErrorObject)[],
  context: string,
): ApiError {
  const first = errors[0] as ErrorObject | undefined;
  if (first === undefined) return invalidParamError(context, 'The request does not match the documentation.');
  const path = spellPath(violationPathOf(first));
  const { message, corrections, ...hints } = diagnosisOf(path || context, path, first);
  return invalidParamError(path || context, message, violationDetailsOf(first, hints), corrections);
}

function diagnosisOf(param: string, path: string, error: ErrorObject): Diagnosis {
  const { data: sent, parentSchema = {}, params } = error;
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  if (missingProperty !== undefined) return missingFieldDiagnosis(param, sent, parentSchema, CALL_SUBJECT);
  if (additionalProperty !== undefined) {
    const others = undeclaredNamesIn(sent, parentSchema).filter((name) => name !== additionalProperty);
    const names = [additionalProperty, ...others] as const;
    return undeclaredFieldsDiagnosis({ param, names, sent, schema: parentSchema }, CALL_SUBJECT);
  }
  const isBody = param === 'body';
  const field = { path: isBody ? param : path, name: isBody ? 'The body' : param };
  return mismatchedValueDiagnosis(field, sent, parentSchema as TSchema, CALL_SUBJECT);
}

function violationDetailsOf(
  error: ErrorObject,
  hints: Pick<Diagnosis, 'suggest' | 'instead'>,
): Record<string, unknown> | undefined {
  const {
    limit,
    allowedValues: allowed,
    type: expected,
    missingProperty,
  } = error.params as Record<string, unknown>;
  const missing = missingProperty === undefined ? undefined : [spellPath(violationPathOf(error))];
  const [first] = Object.entries(withoutAbsentFields({ allowed, expected, limit, missing }));
  const details = { ...(first && Object.fromEntries([first])), ...withoutAbsentFields(hints) };
  return Object.keys(details).length === 0 ? undefined : details;
}
