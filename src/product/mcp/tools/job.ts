import { type Static, type TObject, Type } from '@sinclair/typebox';
import type { Job, JobEstimate, JobItem } from '../../../client/schema.ts';
import { jsonRequestBody } from '../../../client/transport.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { assetIdIn, ensureAssetId, type InputSource, openImageInput } from '../inputs.ts';
import { AnyObjectSchema, defineTool, type ToolResult } from '../tool.ts';

/** The maximum time for which the tool waits for a job. Most clients wait a minute for a tool. */
const MAX_JOB_WAIT_SECONDS = 50;
/** The maximum number of items in the result of the tool. */
const MAX_SHOWN_ITEMS = 20;
/** The maximum length of the shown items as JSON. The first item is always shown. */
const MAX_SHOWN_CHARACTERS = 256 * 1024;
const MAX_JOB_INPUTS = 100;

const JobArguments = {
  action: Type.Unsafe<'submit' | 'get' | 'cancel' | 'resume'>({
    type: 'string',
    enum: ['submit', 'get', 'cancel', 'resume'],
  }),
  id: Type.Optional(Type.String({ description: 'Of the job; not to submit.' })),
  op: Type.Optional(Type.String({ description: 'To submit: op, preset or steps.' })),
  preset: Type.Optional(Type.String()),
  steps: Type.Optional(Type.Array(AnyObjectSchema, { minItems: 1 })),
  inputs: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: MAX_JOB_INPUTS })),
  from: Type.Optional(
    Type.Unsafe<object>({ type: 'object', description: 'Or {collection, createdFrom, createdTo, limit}.' }),
  ),
  parameters: Type.Optional(AnyObjectSchema),
  prompt: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  count: Type.Optional(Type.Integer({ description: 'generate.' })),
  variants: Type.Optional(Type.Array(AnyObjectSchema)),
  template: Type.Optional(Type.String({ description: 'render_template, with items (rows of data).' })),
  items: Type.Optional(Type.Array(AnyObjectSchema)),
  collection: Type.Optional(Type.String({ description: 'For the results.' })),
  maxCredits: Type.Optional(Type.Integer({ minimum: 0 })),
  dryRun: Type.Optional(Type.Boolean()),
  wait: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_JOB_WAIT_SECONDS, description: 'Seconds to wait for its end.' }),
  ),
  key: Type.Optional(Type.String({ description: 'Idempotency-Key: repeats run once.' })),
};
type JobArguments = Static<TObject<typeof JobArguments>>;

export const jobTool = defineTool({
  name: 'job',
  title: 'Run a job',
  description:
    'Batches and AI ops. submit: an op, preset or steps over inputs; generate takes prompt alone. get waits; cancel stops what has not begun; resume retries what did not complete. dryRun prices. Charges credits for AI ops.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: JobArguments,
  output: {
    id: Type.String(),
    status: Type.String(),
    totalItems: Type.Integer(),
    completedItems: Type.Integer(),
    failedItems: Type.Integer(),
    actualCredits: Type.Integer(),
    credits: Type.Integer(),
    items: Type.Array(AnyObjectSchema),
  },
  async run(args, source) {
    switch (args.action) {
      case 'submit':
        return submitJob(args, source);
      case 'get':
        return readJob(args, source);
      case 'cancel':
        return changeJob('cancel', args, source);
      case 'resume':
        return changeJob('resume', args, source);
    }
  },
});

async function submitJob(args: JobArguments, source: InputSource): Promise<ToolResult> {
  const { action: _, id, inputs, preset, template, dryRun, wait, key, ...request } = args;
  if (id !== undefined)
    throw invalidParamError('id', 'A new job has no id yet: leave it out, or use action get.');
  const images = dryRun === true ? dryRunInputFields(inputs) : await uploadInputs(inputs, source);
  const body = jsonRequestBody({ ...request, ...images, presetId: preset, templateId: template });
  const call = { method: 'POST', path: '/jobs', query: { items: MAX_SHOWN_ITEMS, dryRun, wait }, body };
  const { data } = await source.service.json<Job | JobEstimate>(call, { idempotencyKey: key });
  return { structured: jobViewOrPrice(data) };
}

async function readJob({ id, wait }: JobArguments, source: InputSource): Promise<ToolResult> {
  const call = { method: 'GET', path: requireJobPath(id), query: { items: MAX_SHOWN_ITEMS, wait } };
  return { structured: jobView((await source.service.json<Job>(call)).data) };
}

async function changeJob(
  action: 'cancel' | 'resume',
  { id, key, dryRun, maxCredits }: JobArguments,
  source: InputSource,
): Promise<ToolResult> {
  const call = {
    method: 'POST',
    path: `${requireJobPath(id)}/${action}`,
    query: { items: MAX_SHOWN_ITEMS, ...(action === 'resume' && { dryRun }) },
    ...(action === 'resume' && { body: jsonRequestBody({ maxCredits }) }),
  };
  const { data } = await source.service.json<Job | JobEstimate>(call, { idempotencyKey: key });
  return { structured: jobViewOrPrice(data) };
}

/** A job as the tool shows it. If a dry run returned a price instead of a job, the price is returned unchanged. */
function jobViewOrPrice(data: Job | JobEstimate) {
  return 'id' in data ? jobView(data) : { ...data };
}

function requireJobPath(id: string | undefined): string {
  if (id === undefined)
    throw invalidParamError('id', 'id is missing: send that of the job, as submit answered it.');
  return `/jobs/${encodeURIComponent(id)}`;
}

/**
 * The fields of a job for its inputs. An input that is not an asset is uploaded first, because a job takes only assets.
 */
async function uploadInputs(inputs: readonly string[] | undefined, source: InputSource) {
  if (inputs === undefined) return {};
  const assetIds: string[] = [];
  for (const [index, input] of inputs.entries())
    assetIds.push(
      await ensureAssetId(await openImageInput(input, source, `inputs[${index}]`), source.service),
    );
  return { assetIds };
}

/** The fields of a dry run for its inputs. It uploads nothing, so inputs that are not assets yet are only counted. */
function dryRunInputFields(inputs: readonly string[] | undefined) {
  if (inputs === undefined) return {};
  const assetIds = inputs.flatMap((input) => assetIdIn(input) ?? []);
  const imageCount = inputs.length - assetIds.length;
  return { assetIds, ...(imageCount > 0 && { imageCount }) };
}

/** The fields of a job that are useful for the next call. */
function jobView(job: Job) {
  const { id, status, totalItems, completedItems, failedItems, cancelledItems } = job;
  const items = firstItemViews(job.items ?? []);
  const { op, model, sandbox, outcome, actualCredits, errorCode, errorMessage, retryable } = job;
  return {
    ...{ id, status, totalItems, completedItems, failedItems },
    ...(cancelledItems > 0 && { cancelledItems }),
    ...withoutAbsentFields({
      op,
      model,
      sandbox,
      outcome,
      actualCredits,
      errorCode,
      errorMessage,
      retryable,
    }),
    items,
    ...(totalItems > items.length && {
      moreItems: totalItems - items.length,
      moreItemsAt: `/api/v1/jobs/${id}/items`,
    }),
  };
}

/**
 * The first items as the tool shows them. Long outputs count against a limit, because the result contains everything
 * twice, and is written in one turn of the event loop.
 */
function firstItemViews(items: readonly JobItem[]) {
  const shown: ReturnType<typeof jobItemView>[] = [];
  let charactersLeft = MAX_SHOWN_CHARACTERS;
  for (const item of items) {
    const view = jobItemView(item);
    charactersLeft -= JSON.stringify(view).length;
    if (charactersLeft < 0 && shown.length > 0) break;
    shown.push(view);
  }
  return shown;
}

function jobItemView(item: JobItem) {
  const { index, status, variant, resultAssetId, output, achieved, errorCode, errorMessage } = item;
  return {
    ...{ index, status },
    ...withoutAbsentFields({ variant, asset: resultAssetId, output, achieved, errorCode, errorMessage }),
  };
}
