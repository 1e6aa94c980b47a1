import { type Static, Type } from '@sinclair/typebox';
import {
  anyObjectField,
  anyValueField,
  DATE_OR_INSTANT_SCHEMA,
  dryRunQueryFields,
  flagField,
  instantField,
  int32Field,
  int64Field,
  numberField,
  oneOfField,
  textField,
} from '../../platform/http/fields.ts';
import { CallWarning, type ClampBounds } from '../../platform/http/hooks/warnings.ts';
import { PagingQuery } from '../../platform/http/lists.ts';
import { WITHIN_ANY_PARAMETERS, WITHIN_PARAMETERS } from '../catalogue/index.ts';
import type { GivenParameters } from '../catalogue/op.ts';
import { RequestedPromptSubjects, RequestedStepList } from '../catalogue/plan/step.ts';
import { MISPLACED_JOB_FIELDS } from './errors.ts';
import { ITEM_STATUSES, JOB_STATUSES, JOB_TYPES } from './job.ts';

const JobStatusSchema = oneOfField(JOB_STATUSES, 'COMPLETED, FAILED and CANCELLED are final.');
const JobTypeSchema = oneOfField(JOB_TYPES, 'What kind of work it is; a chain has several segments.');
const ItemStatusSchema = oneOfField(ITEM_STATUSES, 'COMPLETED, FAILED and CANCELLED are final.');

/** A query field with epoch milliseconds, a date or an instant. */
const instantQueryField = (description: string) => {
  const millis = { type: 'string', pattern: '^\\d{1,13}$' };
  return Type.String({
    description,
    documented: { anyOf: [millis, { type: 'string', ...DATE_OR_INSTANT_SCHEMA }] },
  });
};

/** The maximum number of assets or rows of one job. */
export const MAX_JOB_ITEMS = 10_000;
/** The range of `wait`, in seconds. A number outside is replaced by the nearer end of the range. */
export const JOB_WAIT_SECONDS_BOUNDS: ClampBounds = [0, 60];
/** The maximum number of items within the response of a job. It is also the default. */
export const MAX_ITEMS_IN_JOB_RESPONSE = 100;

const maxCredits = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: 'Most credits that the job may cost, overage included; a higher price is refused with 402.',
  }),
);

const instantBodyField = (description: string) =>
  Type.Optional(Type.Unsafe<string | number>({ type: ['string', 'integer'], description }));

/** Selects the images of a job by their collection and age instead of by their ids. */
const AssetSelection = Type.Object(
  {
    collection: Type.Optional(textField('Of this collection.')),
    createdFrom: instantBodyField(
      'Stored at or after: epoch milliseconds, an ISO-8601 date or an instant (UTC).',
    ),
    createdTo: instantBodyField('At or before, in the same forms; a bare date includes the whole day.'),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_JOB_ITEMS,
        description: `The oldest of them; without it, more than ${MAX_JOB_ITEMS} are refused.`,
      }),
    ),
  },
  { additionalProperties: false, description: 'Selects DONE images, oldest first, in place of assetIds.' },
);

/** A variant of a job, as sent. Its parameters are merged into those of the job. */
export const VariantFields = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    parameters: Type.Optional(Type.Unsafe<GivenParameters>({ type: 'object', additionalProperties: true })),
  },
  { additionalProperties: false, within: WITHIN_ANY_PARAMETERS },
);

/** The body of POST /jobs. The catalogue checks more than this schema, and names the field at fault. */
export const JobRequest = Type.Object(
  {
    op: Type.Optional(textField('An op of the catalogue; alone, it decides everything else.')),
    type: Type.Optional(textField('A raw type, only without op.')),
    assetIds: Type.Optional(
      Type.Array(Type.Unsafe<unknown>({ description: 'An asset id.', documented: { type: 'string' } }), {
        description: `One item per asset; at most ${MAX_JOB_ITEMS}.`,
      }),
    ),
    from: Type.Optional(AssetSelection),
    parameters: Type.Optional(anyObjectField("The op's parameters; at most 64 KB of JSON.")),
    prompt: Type.Optional(textField('AI ops; at most 32,000 characters.')),
    count: Type.Optional(numberField('generate: 1 to 10 items.')),
    model: Type.Optional(textField("AI ops; the op's default when left out.")),
    templateId: Type.Optional(textField('render_template: id or slug, optionally @version.')),
    items: Type.Optional(
      Type.Array(anyValueField('A row of data.'), { description: 'render_template: one item per row.' }),
    ),
    presetId: Type.Optional(textField('Id, slug or slug@version of a preset.')),
    steps: Type.Optional(RequestedStepList),
    subjects: Type.Optional(RequestedPromptSubjects),
    collection: Type.Optional(textField('Collection of the results.')),
    variants: Type.Optional(
      Type.Array(Type.Unsafe<unknown>({ description: 'name and parameters.', documented: VariantFields }), {
        description:
          '1 to 20, at most 256 KB: {name, parameters}, merged over parameters. Each makes an item of every asset.',
      }),
    ),
    maxCredits,
    imageCount: Type.Optional(numberField('Dry run: stands for this number of additional assetIds.')),
    wait: Type.Optional({
      ...numberField('Seconds to wait for a job of one item; at most 60.'),
      clamped: JOB_WAIT_SECONDS_BOUNDS,
    }),
    mode: Type.Optional(
      Type.Unsafe<unknown>({ description: 'Removed: leave it out.', documented: { not: {} } }),
    ),
  },
  {
    title: 'JobRequest',
    additionalProperties: false,
    elsewhere: 'what an op takes goes into parameters',
    within: WITHIN_PARAMETERS,
    instead: MISPLACED_JOB_FIELDS,
    examples: [{ op: 'generate', prompt: 'A lighthouse at dusk' }],
  },
);
export type JobRequest = Static<typeof JobRequest>;

const fields = Type.Optional(
  textField(
    'Names of fields, separated by commas: each job has only these then, also those that are always there.',
  ),
);

/** The query fields that select what a response shows of a job and its items. */
const viewFields = {
  fields,
  items: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_ITEMS_IN_JOB_RESPONSE,
      description: `The most items that the answer shows; 0 leaves them out. Default ${MAX_ITEMS_IN_JOB_RESPONSE}.`,
    }),
  ),
};

export const JobViewQuery = Type.Object(viewFields);
export type JobViewQuery = Static<typeof JobViewQuery>;

const wait = Type.Optional({
  ...int32Field('Seconds to wait for the end of the job; at most 60.'),
  clamped: JOB_WAIT_SECONDS_BOUNDS,
});

export const JobSubmitQuery = Type.Object({
  ...dryRunQueryFields('Checks and prices the job without creating it.'),
  wait,
  ...viewFields,
});
export type JobSubmitQuery = Static<typeof JobSubmitQuery>;

/** The body of POST /jobs/{jobId}/resume, which may be omitted. */
export const JobResumeRequest = Type.Object(
  { maxCredits },
  {
    title: 'ResumeRequest',
    additionalProperties: false,
    elsewhere:
      'a resume repeats the job as it was submitted; for other parameters or assets submit a new job',
    examples: [{ maxCredits: 50 }],
  },
);
export type JobResumeRequest = Static<typeof JobResumeRequest>;

export const JobResumeQuery = Type.Object({
  ...dryRunQueryFields('Checks and prices the new attempt without creating it.'),
  ...viewFields,
});
export type JobResumeQuery = Static<typeof JobResumeQuery>;

export const JobQuery = Type.Object({ wait, ...viewFields });
export type JobQuery = Static<typeof JobQuery>;

/** The query that selects results. It also contains the fields of a signed link. */
export const JobResultsQuery = Type.Object({
  attempts: Type.Optional(
    oneOfField(
      ['all'],
      'Every completed item of the job and its resumes, by its index in the first attempt; the last result of each.',
    ),
  ),
  owner: Type.Optional(textField('Of a signed link.')),
  expires: Type.Optional(textField('Of a signed link.')),
  signature: Type.Optional(textField('Of a signed link.')),
});
export type JobResultsQuery = Static<typeof JobResultsQuery>;

export const JobParams = Type.Object({ jobId: Type.String() });
export type JobParams = Static<typeof JobParams>;

const filterFields = {
  preset: Type.Optional(textField('Slug or id for every version, or slug@version.')),
  op: Type.Optional(textField('Jobs that were submitted as this op.')),
  rootJobId: Type.Optional(textField('Every attempt of one job.')),
  createdFrom: Type.Optional(
    instantQueryField('At or after: epoch milliseconds, or an ISO-8601 date or instant (UTC).'),
  ),
  createdTo: Type.Optional(
    instantQueryField('At or before, in the same forms; a bare date includes the whole day.'),
  ),
};

export const JobFilterQuery = Type.Object(filterFields);
export type JobFilterQuery = Static<typeof JobFilterQuery>;

export const JobListQuery = Type.Object({
  status: Type.Optional(JobStatusSchema),
  type: Type.Optional(JobTypeSchema),
  ...filterFields,
  fields,
  ...PagingQuery,
});
export type JobListQuery = Static<typeof JobListQuery>;

export const JobItemsQuery = Type.Object({ status: Type.Optional(ItemStatusSchema), ...PagingQuery });
export type JobItemsQuery = Static<typeof JobItemsQuery>;

const sandbox = Type.Optional(
  flagField('True when a model of the sandbox does part of it: what it makes is invented. Absent elsewhere.'),
);

export const JobItem = Type.Object(
  {
    index: int32Field('From 0.'),
    status: ItemStatusSchema,
    assetId: Type.Optional(textField('The asset that it works on.')),
    variant: Type.Optional(textField("The variant's name, or its index as text.")),
    resultAssetId: Type.Optional(textField('The asset that it made.')),
    sandbox,
    output: Type.Optional(anyValueField('The answer of an op that produces JSON.')),
    achieved: Type.Optional(anyObjectField('compress: what was reached.')),
    warnings: Type.Optional(
      Type.Array(CallWarning, {
        description:
          'As in X-Service-Warnings of a synchronous call of the same work, such as `not_enlarged`: the result may not be what was meant.',
      }),
    ),
    errorCode: Type.Optional(Type.String()),
    retryable: Type.Optional(Type.Boolean()),
    errorMessage: Type.Optional(Type.String()),
    attempts: Type.Optional(
      int32Field('Tries that failed so far, of 3; beside lastError, until the item completes or fails.'),
    ),
    lastError: Type.Optional(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { description: 'Why the last try failed, while the item waits for its next one or runs again.' },
      ),
    ),
    step: Type.Optional(int32Field('Chain: the segment that it is in.')),
    failedStep: Type.Optional(int32Field('Chain: the segment that failed.')),
    durationMs: Type.Optional(Type.Integer()),
    startedAt: Type.Optional(instantField('When its last try began.')),
    completedAt: Type.Optional(instantField('When it settled.')),
  },
  { title: 'JobItem' },
);
export type JobItem = Static<typeof JobItem>;

const RegistryStep = Type.Object({ operation: Type.String(), params: anyObjectField('Its arguments.') });

const JobPipeline = Type.Object(
  { variant: Type.Optional(Type.String()), steps: Type.Array(RegistryStep) },
  { title: 'JobPipeline' },
);

const JobSegment = Type.Object(
  {
    index: int32Field('From 0.'),
    type: Type.String(),
    op: Type.Optional(Type.String()),
    model: Type.Optional(Type.String()),
    prompt: Type.Optional(Type.String()),
    parameters: Type.Optional(anyObjectField('As the model receives them.')),
    pipeline: Type.Optional(Type.Array(RegistryStep)),
    stepIndexes: Type.Array(Type.Integer(), { description: 'The steps that it is made of.' }),
  },
  { title: 'JobSegment' },
);

const summaryFields = {
  object: Type.Literal('job', {
    description: 'Distinguishes a job from the estimate that a dry run answers.',
  }),
  id: Type.String(),
  status: JobStatusSchema,
  type: JobTypeSchema,
  totalItems: int32Field('Items of the job.'),
  completedItems: int32Field('Items that made a result.'),
  failedItems: int32Field('Items that failed.'),
  cancelledItems: int32Field('Items that a cancel stopped.'),
  outcome: Type.Optional(
    oneOfField(['all', 'some', 'none'], 'How many of its items completed; only on a job that has ended.'),
  ),
  op: Type.Optional(textField('The op that it was submitted as.')),
  model: Type.Optional(Type.String()),
  sandbox,
  collection: Type.Optional(Type.String()),
  presetId: Type.Optional(Type.String()),
  presetName: Type.Optional(Type.String()),
  presetVersion: Type.Optional(Type.Integer()),
  actualCredits: int64Field('Credits charged for models; 0 until the job has ended.'),
  errorCode: Type.Optional(Type.String()),
  errorMessage: Type.Optional(Type.String()),
  retryable: Type.Optional(Type.Boolean()),
  attemptNumber: int32Field('1, and 1 more with each resume.'),
  parentJobId: Type.Optional(Type.String()),
  rootJobId: Type.String(),
  createdAt: instantField('When it was submitted.'),
  completedAt: Type.Optional(instantField('When it ended.')),
  expiresAt: instantField('When its record and what it made are removed.'),
};

export const JobSummary = Type.Object(summaryFields, { title: 'JobSummary' });
export type JobSummary = Static<typeof JobSummary>;

export const Job = Type.Object(
  {
    ...summaryFields,
    prompt: Type.Optional(textField('As the model receives it.')),
    parameters: Type.Optional(
      anyObjectField('The parameters that it runs with; the rows of a render are under items.'),
    ),
    references: Type.Optional(Type.Array(Type.String())),
    pipelines: Type.Optional(Type.Array(JobPipeline)),
    segments: Type.Optional(Type.Array(JobSegment)),
    items: Type.Optional(
      Type.Array(JobItem, {
        description: `The first ${MAX_ITEMS_IN_JOB_RESPONSE}, or as many as the query asks for.`,
      }),
    ),
    itemsTruncated: Type.Optional(flagField('True when there are more.')),
  },
  { title: 'Job' },
);
export type Job = Static<typeof Job>;

const notRetryableItems = Type.Optional(
  Type.Array(Type.Integer(), {
    description:
      'Indexes, in the attempt that is resumed, of items that failed for a reason that does not pass by itself: they will most likely fail again. At most 100.',
  }),
);

/** The response of a resume: the new job, with the items that cannot be tried again. */
export const ResumedJob = Type.Object({ ...Job.properties, notRetryableItems }, { title: 'ResumedJob' });

export const JobCount = Type.Object(
  { status: JobStatusSchema, type: JobTypeSchema, count: Type.Integer() },
  { title: 'JobCount' },
);
export type JobCount = Static<typeof JobCount>;

const StepPrice = Type.Object({
  index: int32Field('The segment, from 0.'),
  type: Type.String(),
  op: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  items: int32Field('Items that go through it.'),
  credits: int64Field('For all of them.'),
  processRuns: int32Field('Runs against the allowance.'),
});

export const JobEstimate = Type.Object(
  {
    object: Type.Literal('estimate', {
      description: 'Distinguishes an estimate from the job that a submit answers.',
    }),
    type: JobTypeSchema,
    totalItems: int32Field('Items of the job.'),
    sandbox,
    creditsPerItem: int64Field('The highest, where variants differ.'),
    credits: int64Field('For models, in all.'),
    balance: int64Field("The account's."),
    sufficientCredit: Type.Boolean(),
    assetCountLeft: int64Field('Assets that the plan has room for before the job.'),
    processCountLeft: int64Field('Runs left of the allowance before the job; -1 without a limit.'),
    overageRuns: int64Field('Runs beyond the allowance.'),
    overageCredits: int64Field('What those cost.'),
    steps: Type.Optional(Type.Array(StepPrice, { description: 'With several segments: the price of each.' })),
    warnings: Type.Optional(
      Type.Array(anyObjectField('A finding about the steps, or about the fonts of their text.')),
    ),
    notRetryableItems,
  },
  { title: 'JobEstimate' },
);
export type JobEstimate = Static<typeof JobEstimate>;
