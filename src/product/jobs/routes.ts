import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientGoneSignal } from '../../platform/http/connection/client.ts';
import {
  discriminatedUnionSchema,
  envelopeSchemaOf,
  pageSchemaOf,
  successEnvelope,
} from '../../platform/http/envelope.ts';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { isDryRun } from '../../platform/http/fields.ts';
import { idempotencyKeyOf } from '../../platform/http/hooks/idempotency.ts';
import { addWarnings, clamp } from '../../platform/http/hooks/warnings.ts';
import { sendLongAnswer } from '../../platform/http/long-answers.ts';
import type { Caller } from '../accounts/authentication.ts';
import { type CallGate, LONG_READS_TEXT } from '../accounts/gate/gate.ts';
import type { JobsContext } from './context.ts';
import { sandboxWarningsOf } from './definitions.ts';
import { parseJobFilters } from './filters.ts';
import { hasEnded, type JobDocument } from './job.ts';
import type { JobLifecycle } from './lifecycle.ts';
import {
  jobItemDataOf,
  jobMessageOf,
  jobSummaryOf,
  parseJobListView,
  parseJobView,
  selectJobFields,
} from './responses.ts';
import {
  JOB_WAIT_SECONDS_BOUNDS,
  Job,
  JobCount,
  JobEstimate,
  JobFilterQuery,
  JobItem,
  JobItemsQuery,
  JobListQuery,
  JobParams,
  JobQuery,
  JobRequest,
  JobResumeQuery,
  JobResumeRequest,
  JobSubmitQuery,
  JobSummary,
  JobViewQuery,
  ResumedJob,
} from './schema.ts';
import { checkJobSubmit, type JobCheckDependencies } from './submit/checking.ts';
import {
  estimateJobOrder,
  findFontWarnings,
  type JobFonts,
  type StepFontWarning,
} from './submit/estimate.ts';
import type { JobOrder } from './submit/order.ts';
import type { JobEndWaiters } from './waits.ts';

interface JobRoutesOptions extends JobCheckDependencies, JobFonts {
  context: JobsContext;
  lifecycle: JobLifecycle;
  gate: CallGate;
  waits: JobEndWaiters;
}

const ROUTE_INSTALLERS = [
  installListRoute,
  installCountRoute,
  installSubmitRoute,
  installReadRoute,
  installItemsRoute,
  installCancelRoute,
  installResumeRoute,
];

/** The routes of jobs. A job runs an op, a preset or steps over many assets. */
export async function jobRoutes(app: FastifyInstance, options: JobRoutesOptions): Promise<void> {
  // With `fields`, the response lacks properties that its schema requires. A serializer that is generated from the
  // schema would refuse it.
  app.setSerializerCompiler(() => JSON.stringify);
  for (const route of ROUTE_INSTALLERS) route(app, options);
}

function installListRoute(app: FastifyInstance, { gate, presets, lifecycle }: JobRoutesOptions): void {
  app.get<{ Querystring: JobListQuery }>(
    '/jobs',
    {
      config: {
        async recheck(request, { query }) {
          parseJobListView(query);
          await parseJobFilters(gate.requireCaller(request).accountId, query, presets);
        },
      },
      schema: {
        summary: 'List jobs',
        description: 'Newest first. All filters combine.',
        querystring: JobListQuery,
        response: { 200: pageSchemaOf(JobSummary) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { status, type } = request.query;
      const view = parseJobListView(request.query);
      const filters = { status, type, ...(await parseJobFilters(accountId, request.query, presets)) };
      const { rows, meta } = await lifecycle.reading.list(accountId, filters, request.query);
      const data = rows.map((job) => selectJobFields(jobSummaryOf(job), view));
      return successEnvelope('Jobs listed.', data, meta);
    },
  );
}

function installCountRoute(app: FastifyInstance, { gate, presets, lifecycle }: JobRoutesOptions): void {
  app.get<{ Querystring: JobFilterQuery }>(
    '/jobs/counts',
    {
      config: {
        recheck: (sent, { query }) => parseJobFilters(gate.requireCaller(sent).accountId, query, presets),
      },
      schema: {
        summary: 'Count jobs',
        description: 'One row per status and type that has jobs. Not paged.',
        querystring: JobFilterQuery,
        response: { 200: envelopeSchemaOf(Type.Array(JobCount)) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const filters = await parseJobFilters(accountId, request.query, presets);
      return successEnvelope('Jobs counted.', await lifecycle.reading.countByStatus(accountId, filters));
    },
  );
}

function installSubmitRoute(app: FastifyInstance, options: JobRoutesOptions): void {
  const { gate, lifecycle } = options;
  const { reading, submit } = lifecycle;
  app.post<{ Body: JobRequest; Querystring: JobSubmitQuery }>(
    '/jobs',
    {
      config: {
        idempotency: (request) => (isDryRun(request) ? undefined : 'kept'),
        needsFreeSpace: (request) => !isDryRun(request),
        recheck(request, { query, body }) {
          parseJobView(query);
          const caller = gate.requireCaller(request);
          return checkJobSubmit(caller, body as JobRequest, isDryRun({ query }), options);
        },
        pictureSize(sent, { body }) {
          const { accountId } = gate.requireCaller(sent);
          return options.assets.reader.findSizeOfOnlyAsset(accountId, (body as JobRequest).assetIds ?? []);
        },
        async replayed(request, reply, { status }) {
          // A status of 200 or 202 comes only from a submit that waited for the end of its job.
          const key = status === 200 || status === 202 ? idempotencyKeyOf(request) : null;
          if (key === null) return false;
          const { accountId } = gate.requireCaller(request);
          const job = await reading.findByKey(accountId, key.key);
          if (job === null) return false;
          reply.code(hasEnded(job) ? 200 : 202);
          const view = parseJobView(request.query as JobViewQuery);
          const takeSlot = () => gate.takeSlot(request, reply, 'longReads', accountId);
          const data = await reading.view(job, view, takeSlot);
          await sendLongAnswer(reply, accountId, successEnvelope(jobMessageOf(job), data));
          return true;
        },
      },
      schema: {
        summary: 'Submit a job',
        description:
          'Runs an op, a saved preset or inline steps over a batch of assets. With dryRun=true it is checked and priced only.',
        querystring: JobSubmitQuery,
        body: JobRequest,
        response: {
          200: envelopeSchemaOf(discriminatedUnionSchema([Job, JobEstimate])),
          201: envelopeSchemaOf(Job),
          202: envelopeSchemaOf(Job),
        },
      },
    },
    async (request, reply) => {
      const caller = gate.requireCaller(request);
      const waitMs = submitWaitMs(request);
      const view = parseJobView(request.query);
      const order = await checkJobSubmit(caller, request.body, isDryRun(request), options);
      if (isDryRun(request)) return sendEstimate(options, caller, order, reply);
      const submitted = await submit(caller, order, { key: idempotencyKeyOf(request) });
      await addJobWarnings(options, order, reply);
      if (submitted.isReplayed) reply.header('idempotency-replayed', 'true');
      const cleanedUp = await reading.cleanUpIfEnded(submitted.job);
      const { job, code } = await waitForSingleItem(options, request, reply, cleanedUp, waitMs);
      reply.header('location', `/api/v1/jobs/${job._id}`);
      const answer = await reading.view(job, view);
      // If the job has ended in the meantime, the warnings of its items are added to those of the job.
      addWarnings(reply, answer.items?.flatMap(({ warnings = [] }) => warnings) ?? []);
      return sendLongAnswer(reply.code(code), caller.accountId, successEnvelope(jobMessageOf(job), answer));
    },
  );
}

function installReadRoute(app: FastifyInstance, options: JobRoutesOptions): void {
  const { gate, waits, lifecycle } = options;
  app.get<{ Params: JobParams; Querystring: JobQuery }>(
    '/jobs/:jobId',
    {
      config: {
        slot: (request) => (unvalidatedWaitSeconds(request) > 0 ? 'waits' : null),
        recheck: (_request, { query }) => parseJobView(query),
      },
      schema: {
        summary: 'Read a job',
        description: `With wait, answers when the job has ended or the time is over. ${LONG_READS_TEXT}`,
        params: JobParams,
        querystring: JobQuery,
        response: { 200: envelopeSchemaOf(Job) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const view = parseJobView(request.query);
      const read = () => lifecycle.reading.find(accountId, request.params.jobId);
      const terms = { accountId, request, clientSignal: clientGoneSignal(reply), read };
      const job = await waits.untilEnded(request.params.jobId, parseWaitMs(request.query.wait), terms);
      const takeSlot = () => gate.takeSlot(request, reply, 'longReads', accountId);
      const data = await lifecycle.reading.view(job, view, takeSlot);
      return sendLongAnswer(reply, accountId, successEnvelope('Job read.', data));
    },
  );
}

function installItemsRoute(app: FastifyInstance, { context, lifecycle, gate }: JobRoutesOptions): void {
  app.get<{ Params: JobParams; Querystring: JobItemsQuery }>(
    '/jobs/:jobId/items',
    {
      schema: {
        summary: "List a job's items",
        description: `In item order. ${LONG_READS_TEXT}`,
        params: JobParams,
        querystring: JobItemsQuery,
        response: { 200: pageSchemaOf(JobItem) },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const { accountId } = gate.requireCaller(request);
      const job =
        query.status === undefined
          ? await lifecycle.reading.find(accountId, params.jobId)
          : await lifecycle.reading.findWithStatuses(accountId, params.jobId);
      const [definition, page] = await Promise.all([
        context.definitions.find(job._id),
        context.items.list(job, query.status, query, () =>
          gate.takeSlot(request, reply, 'longReads', accountId),
        ),
      ]);
      const rows = page.rows.values().map((item) => jobItemDataOf(item, job, definition));
      return sendLongAnswer(reply, accountId, successEnvelope('Items listed.', rows, page.meta));
    },
  );
}

function installCancelRoute(app: FastifyInstance, options: JobRoutesOptions): void {
  const { gate, lifecycle } = options;
  app.post<{ Params: JobParams; Querystring: JobViewQuery }>(
    '/jobs/:jobId/cancel',
    {
      config: { idempotency: 'kept', recheck: (_request, { query }) => parseJobView(query) },
      schema: {
        summary: 'Cancel a job',
        description:
          'Items that no worker has begun are cancelled at once; those at work finish, and the job is CANCELLING until then. Its end is the event job.failed with the status CANCELLED.',
        params: JobParams,
        querystring: JobViewQuery,
        response: { 200: envelopeSchemaOf(Job) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const view = parseJobView(request.query);
      const job = await lifecycle.cancel(accountId, request.params.jobId);
      const data = await lifecycle.reading.view(job, view);
      return sendLongAnswer(reply, accountId, successEnvelope(`The job is ${job.status}.`, data));
    },
  );
}

function installResumeRoute(app: FastifyInstance, options: JobRoutesOptions): void {
  const { gate, lifecycle } = options;
  const { reading, resuming } = lifecycle;
  app.post<{ Params: JobParams; Querystring: JobResumeQuery; Body: JobResumeRequest }>(
    '/jobs/:jobId/resume',
    {
      config: {
        idempotency: (request) => (isDryRun(request) ? undefined : 'kept'),
        body: 'optional',
        needsFreeSpace: (request) => !isDryRun(request),
        recheck: (_request, { query }) => parseJobView(query, RESUMED_JOB_FIELDS),
      },
      schema: {
        summary: 'Resume a job',
        description:
          'Makes a new job over the items that failed or were cancelled, with the same op, parameters and assets. With dryRun=true it is checked and priced only.',
        params: JobParams,
        querystring: JobResumeQuery,
        body: JobResumeRequest,
        response: { 200: envelopeSchemaOf(JobEstimate), 201: envelopeSchemaOf(ResumedJob) },
      },
    },
    async (request, reply) => {
      const caller = gate.requireCaller(request);
      const { jobId } = request.params;
      const view = parseJobView(request.query, RESUMED_JOB_FIELDS);
      const { maxCredits } = request.body;
      if (isDryRun(request))
        return sendEstimate(options, caller, await resuming.preview(caller, jobId, maxCredits), reply);
      const terms = { key: idempotencyKeyOf(request), maxCredits };
      const { order, job, isReplayed } = await resuming.resume(caller, jobId, terms);
      const { notRetryableItems = [] } = order;
      await addJobWarnings(options, order, reply);
      if (isReplayed) reply.header('idempotency-replayed', 'true');
      const answer = await reading.view(await reading.cleanUpIfEnded(job), view);
      if (notRetryableItems.length > 0)
        Object.assign(answer, selectJobFields({ notRetryableItems: [...notRetryableItems] }, view));
      const warning = `; ${notRetryableItems.length} of its items failed for a reason that does not pass by itself (notRetryableItems), and will most likely fail again`;
      const message = `The job is resumed as a new one${notRetryableItems.length === 0 ? '' : warning}.`;
      reply.code(201).header('location', `/api/v1/jobs/${job._id}`);
      return sendLongAnswer(reply, caller.accountId, successEnvelope(message, answer));
    },
  );
}

/** Waits for the end of a job of one item, if the submit requests it. Jobs of several items are returned at once. */
async function waitForSingleItem(
  { lifecycle, waits }: JobRoutesOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  job: JobDocument,
  waitMs: number,
) {
  if (waitMs <= 0 || job.totalItems !== 1) return { job, code: 201 };
  const { _id, accountId } = job;
  const read = () => lifecycle.reading.find(accountId, _id);
  const terms = { accountId, request, clientSignal: clientGoneSignal(reply), read, known: job };
  const ended = await waits.untilEnded(_id, waitMs, terms).catch(() => job);
  return { job: ended, code: hasEnded(ended) ? 200 : 202 };
}

async function sendEstimate(options: JobRoutesOptions, caller: Caller, order: JobOrder, reply: FastifyReply) {
  const fontWarnings = await addJobWarnings(options, order, reply);
  const estimate = await estimateJobOrder(options.context, caller, order, fontWarnings);
  return successEnvelope('Nothing was submitted: this is what it would cost.', estimate);
}

/**
 * Adds the warnings that are known before a job runs: about sandbox models, about its steps, and about missing fonts.
 */
async function addJobWarnings(
  fonts: JobFonts,
  { definition: { variants } }: JobOrder,
  reply: FastifyReply,
): Promise<StepFontWarning[]> {
  const fontWarnings = await findFontWarnings(fonts, variants);
  const ofSteps = variants.flatMap(({ warnings = [] }) => warnings);
  addWarnings(reply, [...sandboxWarningsOf(variants), ...ofSteps, ...fontWarnings]);
  return fontWarnings;
}

const RESUMED_JOB_FIELDS = Object.keys(ResumedJob.properties);

/**
 * How long a submit waits for the end of the job, in milliseconds. `wait` in the query takes precedence over the body.
 */
function submitWaitMs({ query, body }: FastifyRequest): number {
  const { wait } = query as JobSubmitQuery;
  const bodyWaitMs = parseWaitMs((body as JobRequest | undefined)?.wait);
  return wait === undefined ? bodyWaitMs : parseWaitMs(wait);
}

/**
 * Converts `wait` from seconds to milliseconds; 0 if it is absent.
 * @throws ApiError invalid_param on wait
 */
function parseWaitMs(seconds: number | undefined): number {
  if (seconds === undefined) return 0;
  if (!Number.isInteger(seconds)) {
    const message = 'wait must be a whole number of seconds, at most 60.';
    throw invalidParamError('wait', message, { received: seconds });
  }
  return clamp(JOB_WAIT_SECONDS_BOUNDS, seconds) * 1_000;
}

/**
 * The value of `wait` in a query that is not validated yet, in seconds. Text that is not a number counts as 0 here; the
 * validation refuses it later.
 */
function unvalidatedWaitSeconds({ query }: FastifyRequest): number {
  const wait = Number((query as { wait?: unknown }).wait);
  return Number.isFinite(wait) ? wait : 0;
}
