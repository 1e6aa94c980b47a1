import { type Static, Type } from '@sinclair/typebox';
import { ERROR_CODES, type ErrorCode } from '../../platform/http/errors/errors.ts';
import {
  anyValueField,
  componentSchema,
  DATE_OR_INSTANT_SCHEMA,
  flagField,
  instantField,
  int32Field,
  int64Field,
  oneOfField,
  textField,
} from '../../platform/http/fields.ts';
import { PagingQuery } from '../../platform/http/lists.ts';

const errorFields = {
  code: textField('The code of the error.'),
  message: textField('As it was answered.'),
  param: Type.Optional(textField('The parameter at fault.')),
  reason: Type.Optional(textField('The sub-reason, of `details.reason`.')),
  fix: Type.Optional(
    Type.Array(anyValueField('A correction: `param` with `rename`, `replace` or `remove`.'), {
      description: 'The corrections that, made in order, let the call pass.',
    }),
  ),
};

const operationFields = {
  method: Type.String(),
  operation: textField('The name of the call in generated clients, such as `transformImage`.'),
  route: textField('The path with its parameters in braces, such as `/api/v1/jobs/{jobId}`.'),
};

/** A call as its account sees it. */
export const RequestRecord = componentSchema('RequestRecord', {
  id: textField('The X-Request-Id: several calls may have the same one, if their caller chose it.'),
  at: instantField('When it was answered.'),
  ...operationFields,
  path: textField('The path and query as they were sent, without secrets.'),
  status: int32Field('Of the answer.'),
  error: Type.Optional(
    Type.Object({ ...errorFields, retryable: flagField('Whether the same call may succeed later.') }),
  ),
  durationMs: Type.Number({ description: 'From the request to the end of its answer.' }),
  timing: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: 'The parts of Server-Timing, in milliseconds, in their order.',
    }),
  ),
  bytesIn: Type.Optional(int64Field('Of the body, if the client announced its size.')),
  bytesOut: Type.Optional(int64Field('Of the answer; absent for a stream of unknown size.')),
  warnings: Type.Optional(Type.Array(Type.String(), { description: 'The entries of X-Service-Warnings.' })),
  apiKeyId: Type.Optional(textField('The key it was made with; absent for a console session.')),
});
export type RequestRecord = Static<typeof RequestRecord>;

/** Refused calls of the same operation with the same cause. */
export const RequestErrorGroup = componentSchema('RequestErrorGroup', {
  ...operationFields,
  ...errorFields,
  message: textField('Of the last one.'),
  count: int32Field('How many of the recent calls.'),
  firstAt: instantField('When the first of them was answered.'),
  lastAt: instantField('When the last of them was answered.'),
  lastRequestId: textField('The id of the last one.'),
});
export type RequestErrorGroup = Static<typeof RequestErrorGroup>;

const filterFields = {
  status: Type.Optional(
    Type.String({
      description: 'A status such as 404, or a class of them such as 4xx.',
      documented: { pattern: '^[1-5](\\d\\d|[xX][xX])$' },
    }),
  ),
  errorCode: Type.Optional(oneOfField(Object.keys(ERROR_CODES) as ErrorCode[], 'Of the error.')),
  operation: Type.Optional(textField('Calls of this name, such as `transformImage`.')),
  path: Type.Optional(textField('Calls whose path begins so, such as `/api/v1/jobs`.')),
  requestId: Type.Optional(textField('Calls with this id.')),
  apiKeyId: Type.Optional(textField('Calls with this key; `console` for those of console sessions.')),
  from: Type.Optional(
    Type.String({
      description: 'Answered at or after: YYYY-MM-DD or an ISO-8601 instant (UTC).',
      documented: DATE_OR_INSTANT_SCHEMA,
    }),
  ),
  to: Type.Optional(
    Type.String({ description: 'Answered before, in the same forms.', documented: DATE_OR_INSTANT_SCHEMA }),
  ),
};

export const RequestFilterQuery = Type.Object(filterFields);
export type RequestFilterQuery = Static<typeof RequestFilterQuery>;

export const RequestListQuery = Type.Object({ ...filterFields, ...PagingQuery });
export type RequestListQuery = Static<typeof RequestListQuery>;

export const RequestParams = Type.Object({ requestId: Type.String() });
export type RequestParams = Static<typeof RequestParams>;
