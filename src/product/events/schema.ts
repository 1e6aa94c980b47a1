import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import {
  anyValueField,
  componentSchema,
  flagField,
  instantField,
  int32Field,
  oneOfField,
  textField,
} from '../../platform/http/fields.ts';
import type { WebhookEventType } from './event.ts';

const failureFields = {
  errorCode: Type.Optional(textField('Of the closed set of error codes.')),
  retryable: Type.Optional(flagField('Whether the same call may succeed later.')),
};

const jobFields = (status: TProperties) => ({
  jobId: Type.String(),
  type: textField('The type of the job.'),
  ...status,
  totalItems: int32Field('Items of the job.'),
});

const jobEndSchema = (status: TProperties) =>
  Type.Object({
    ...jobFields(status),
    completedItems: int32Field('Items that made a result.'),
    failedItems: int32Field('Items that failed.'),
    outcome: Type.Optional(oneOfField(['all', 'some', 'none'], 'How many of its items completed.')),
    creditsCharged: Type.Integer({ format: 'int64' }),
    ...failureFields,
  });

const itemEndSchema = (status: string) =>
  Type.Object({
    ...jobFields({ status: Type.Literal(status) }),
    itemIndex: int32Field('From 0.'),
    settledItems: int32Field('Items of the job that had ended by then, this one included.'),
    sourceAssetId: Type.Optional(textField('The asset that it worked on.')),
    resultAssetId: Type.Optional(textField('The asset that it made.')),
    output: Type.Optional(anyValueField('The answer of an op that produces JSON.')),
    step: Type.Optional(int32Field('Chain: the segment that it ended in.')),
    failedStep: Type.Optional(int32Field('Chain: the segment that failed.')),
    ...failureFields,
    error: Type.Optional(textField('Why it failed, as a sentence.')),
  });

function payloadSchema(type: WebhookEventType | 'webhook.test', title: string, data: TObject): TObject {
  return componentSchema(title, {
    id: textField('`evt_…`; the same at every attempt.'),
    type: Type.Literal(type),
    createdAt: instantField('The instant of what it announces.'),
    data,
  });
}

const completedStatus = { status: Type.Literal('COMPLETED') };
const failedStatus = { status: oneOfField(['FAILED', 'CANCELLED'], 'How it ended.') };

/** The payload that a webhook endpoint receives, by the type of the event. */
export const EVENT_PAYLOADS: Readonly<Record<WebhookEventType | 'webhook.test', TObject>> = {
  'job.completed': payloadSchema('job.completed', 'JobCompletedEvent', jobEndSchema(completedStatus)),
  'job.failed': payloadSchema('job.failed', 'JobFailedEvent', jobEndSchema(failedStatus)),
  'job.item.completed': payloadSchema(
    'job.item.completed',
    'JobItemCompletedEvent',
    itemEndSchema('COMPLETED'),
  ),
  'job.item.failed': payloadSchema('job.item.failed', 'JobItemFailedEvent', itemEndSchema('FAILED')),
  'webhook.test': payloadSchema('webhook.test', 'WebhookTestEvent', Type.Object({ message: Type.String() })),
};
