import { Type } from '@sinclair/typebox';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { mismatchedValueDiagnosis } from '../../platform/http/errors/violations.ts';
import { DRY_RUN_QUERY_NAMES } from '../../platform/http/fields.ts';
import { misplacedFieldsRefusal } from '../../platform/http/hooks/sent-fields.ts';
import { type CallWarning, warningPerName } from '../../platform/http/hooks/warnings.ts';
import { nearestName } from '../../platform/ids/nearest.ts';
import { parseJsonOrUndefined } from '../../platform/values/json.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { type BodyFields, IMAGE_FIELDS } from './input.ts';
import { TRANSFORM_OPS } from './transform-schema.ts';

/** The query of a transform. It defines the work, and the form of the response. */

export type RawQueryFields = Readonly<Record<string, string | string[] | undefined>>;

/** The keys of a query that determine the form of the response. */
const RESPONSE_OPTION_KEYS: readonly string[] = ['response', ...DRY_RUN_QUERY_NAMES];
/** Query keys that are not parameters of an op. */
const CALL_QUERY_KEYS: readonly string[] = ['op', 'preset', ...RESPONSE_OPTION_KEYS];

/** The fields of a query that are parameters of its op. */
export function parametersOf(query: RawQueryFields): Record<string, string | string[] | undefined> {
  return Object.fromEntries(Object.entries(query).filter(([key]) => !CALL_QUERY_KEYS.includes(key)));
}

/**
 * A warning for each field of the body that the query has with another value. The value of the query is used.
 */
export function overriddenFieldWarnings(
  query: RawQueryFields,
  { op, preset, parameters = {}, texts = {} }: BodyFields,
): CallWarning[] {
  const isOther = (name: string, sent: unknown) => query[name] !== undefined && String(sent) !== query[name];
  const named = Object.entries({ ...withoutAbsentFields({ op, preset }), ...texts }).map(
    ([name, sent]) => [name, name, sent] as const,
  );
  const nested = Object.entries(parameters).map(
    ([name, sent]) => [`parameters.${name}`, name, sent] as const,
  );
  const overridden = [...named, ...nested].filter(([, name, sent]) => isOther(name, sent));
  return warningPerName(
    'no_effect',
    overridden.map(([path]) => path),
  );
}

/**
 * Checks the fields that determine the form of the response.
 * @throws ApiError invalid_param on an invalid or misspelt field. If it were ignored, the call would do something other
 * than the caller wanted.
 */
export function checkQueryOptions(query: RawQueryFields): void {
  if (Array.isArray(query.response)) parseText('response', query.response);
  checkDryRun(query);
  refuseMisspeltOptions(query);
}

function checkDryRun(query: RawQueryFields): void {
  for (const name of DRY_RUN_QUERY_NAMES) {
    const sent = query[name];
    if (sent === undefined || /^(true|false)$/i.test(String(sent))) continue;
    const call = { owner: 'this call', noun: 'field' } as const;
    const { message, corrections } = mismatchedValueDiagnosis({ path: name }, sent, Type.Boolean(), call);
    throw invalidParamError(name, message, undefined, corrections);
  }
}

/**
 * Refuses a key that is a misspelt field of the call, such as dryrun. A key that any op has as a parameter is accepted.
 */
function refuseMisspeltOptions(query: RawQueryFields): void {
  for (const name of Object.keys(parametersOf(query))) {
    const rename = nearestName(name, RESPONSE_OPTION_KEYS);
    if (rename === undefined || TRANSFORM_OPS.some(({ parameters }) => name in parameters.properties))
      continue;
    const message = `${name} is not a field of this call: did you mean ${rename}?`;
    throw invalidParamError(name, message, undefined, [{ param: name, rename }]);
  }
}

/**
 * Refuses query fields that are read only in a body: the image, and lists, which would have to be escaped in a query.
 */
export function refuseBodyFieldsIn(query: RawQueryFields): void {
  const refusal = misplacedFieldsRefusal(query, IMAGE_FIELDS, 'body');
  if (refusal !== undefined) throw refusal;
  const list = ['steps', 'outputs'].find((name) => query[name] !== undefined);
  if (list === undefined) return;
  const sent = parseJsonOrUndefined(String(query[list]));
  const message = `${list} are not read in the query: send them as JSON text in a multipart field beside file, as in -F '${list}=[{"op": "flip"}]', or in a JSON body beside url or assetId.`;
  throw invalidParamError(list, message, Array.isArray(sent) ? { instead: [{ [list]: sent }] } : undefined);
}

/**
 * The text of a query field.
 * @throws ApiError invalid_param if the field was sent more than once.
 */
export function parseText(param: string, value: string | string[] | undefined): string | undefined {
  if (Array.isArray(value))
    throw invalidParamError(param, `${param} is given ${value.length} times: send it once.`);
  if (value === '') throw invalidParamError(param, `${param} is empty: name one.`);
  return value;
}
