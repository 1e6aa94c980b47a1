import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import type { EventType } from './event.ts';

const JobStatus = (status: string) => Type.Literal(status);
const int32 = (description: string) => Type.Integer({ format: 'int32', description });

const failure = {
  errorCode: Type.Optional(Type.String({ description: 'Of the closed set of error codes.' })),
  retryable: Type.Optional(Type.Boolean({ description: 'Whether the same call may succeed later.' })),
};

const job = (status: TProperties) => ({
  jobId: Type.String(),
  type: Type.String({ description: 'The type of the job.' }),
  ...status,
  totalItems: int32('Items of the job.'),
});

const jobEnd = (status: TProperties) =>
  Type.Object({
    ...job(status),
    completedItems: int32('Items that made a result.'),
    failedItems: int32('Items that failed.'),
    outcome: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['all', 'some', 'none'],
        description: 'How many of its items completed.',
      }),
    ),
    creditsCharged: Type.Integer({ format: 'int64' }),
    ...failure,
  });

const itemEnd = (status: string) =>
  Type.Object({
    ...job({ status: JobStatus(status) }),
    itemIndex: int32('From 0.'),
    settledItems: int32('Items of the job that had ended by then, this one included.'),
    sourceAssetId: Type.Optional(Type.String({ description: 'The asset that it worked on.' })),
    resultAssetId: Type.Optional(Type.String({ description: 'The asset that it made.' })),
    output: Type.Optional(Type.Unknown({ description: 'The answer of an op that produces JSON.' })),
    step: Type.Optional(int32('Chain: the segment that it ended in.')),
    failedStep: Type.Optional(int32('Chain: the segment that failed.')),
    ...failure,
    error: Type.Optional(Type.String({ description: 'Why it failed, as a sentence.' })),
  });

function payload(type: EventType | 'webhook.test', title: string, data: TObject): TObject {
  return Type.Object(
    {
      id: Type.String({ description: '`evt_…`; the same at every attempt.' }),
      type: Type.Literal(type),
      createdAt: Type.String({ format: 'date-time', description: 'The instant of what it announces.' }),
      data,
    },
    { title },
  );
}

const failedStatus = {
  status: Type.Unsafe<string>({
    type: 'string',
    enum: ['FAILED', 'CANCELLED'],
    description: 'How it ended.',
  }),
};

/** The payload that a webhook endpoint receives, by the type of the event. */
export const PAYLOADS: Readonly<Record<EventType | 'webhook.test', TObject>> = {
  'job.completed': payload('job.completed', 'JobCompletedEvent', jobEnd({ status: JobStatus('COMPLETED') })),
  'job.failed': payload('job.failed', 'JobFailedEvent', jobEnd(failedStatus)),
  'job.item.completed': payload('job.item.completed', 'JobItemCompletedEvent', itemEnd('COMPLETED')),
  'job.item.failed': payload('job.item.failed', 'JobItemFailedEvent', itemEnd('FAILED')),
  'webhook.test': payload('webhook.test', 'WebhookTestEvent', Type.Object({ message: Type.String() })),
};
