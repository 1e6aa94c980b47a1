import { present } from '../../platform/values/present.ts';
import type { Segment } from '../catalogue/plan/plan.ts';
import { expandPrompt } from '../catalogue/plan/subjects.ts';
import { type Definition, sandboxModelsOf } from './definitions/definition.ts';
import { hasEnded, type ItemDocument, type JobDocument } from './job.ts';
import { outcomeOf } from './rules.ts';
import type { Job, JobItem, JobSummary } from './schema.ts';

/** A job as the API shows it in a listing. */
export function summaryOf(job: JobDocument): JobSummary {
  const { _id: id, status, type, totalItems, completedItems, failedItems, cancelledItems } = job;
  const { op, model, sandbox, collection, presetId, presetName, presetVersion } = job;
  const { attemptNumber, parentJobId, rootJobId, createdAt, expiresAt } = job;
  const end = hasEnded(job) ? job : undefined;
  const outcome = outcomeOf(job);
  return {
    object: 'job',
    id,
    status,
    type,
    totalItems,
    completedItems,
    failedItems,
    cancelledItems,
    ...present({ outcome, op, model, sandbox, collection, presetId, presetName, presetVersion }),
    actualCredits: end?.actualCredits ?? 0,
    ...(end?.errorCode !== undefined && { errorCode: end.errorCode, retryable: end.retryable ?? false }),
    ...present({ errorMessage: end?.errorMessage }),
    attemptNumber,
    ...present({ parentJobId, completedAt: end?.completedAt }),
    rootJobId,
    createdAt,
    expiresAt,
  };
}

/**
 * A job as the API shows it.
 * @param items its first ones; none leaves them out.
 */
export function jobOf(job: JobDocument, definition: Definition, items: readonly ItemDocument[]): Job {
  const { prompt, references, variants } = definition;
  const parameters = parametersOf(definition, items);
  return {
    ...summaryOf(job),
    ...present({ prompt, parameters }),
    ...(references.length > 0 && { references }),
    ...(job.type === 'process' && { pipelines: variants.map(pipelineOf) }),
    ...(job.type === 'chain' && { segments: (variants[0]?.segments ?? []).map(segmentOf(definition)) }),
    ...(items.length > 0 && { items: items.map((item) => itemOf(item, job, definition)) }),
    ...(job.totalItems > items.length && { itemsTruncated: true }),
  };
}

/** The rows of a render are in its items: those that are shown inline are shown here too. */
function parametersOf({ takes, parameters }: Definition, items: readonly ItemDocument[]) {
  if (takes !== 'rows') return parameters;
  if (items.length === 0) return undefined;
  return { items: items.map(({ row = '{}' }) => JSON.parse(row) as unknown) };
}

function pipelineOf({ name, segments: [segment] }: Definition['variants'][number]) {
  const steps = segment?.runs === 'pass' ? segment.pipeline : [];
  return { ...present({ variant: name }), steps };
}

function segmentOf({ subjects }: Definition) {
  return (segment: Segment) => {
    const { index, stepIndexes } = segment;
    if (segment.runs === 'pass') return { index, type: 'process', pipeline: segment.pipeline, stepIndexes };
    const { jobType: type, op, model, prompt, parameters } = segment;
    return {
      index,
      type,
      op,
      model,
      ...present({ prompt: prompt && expandPrompt(prompt, subjects) }),
      parameters,
      stepIndexes,
    };
  };
}

/**
 * An item as the API shows it. One whose outcome is counted already is shown with it, though its own status is only
 * about to follow.
 */
export function itemOf(item: ItemDocument, job: JobDocument, { variants }: Definition): JobItem {
  const { index, assetId, startedAt, progress } = item;
  const isCounted = job.settlement?.items.some((settled) => settled.index === index) ?? false;
  const isSettled = item.queue === undefined || (item.queue === 'decided' && isCounted);
  const outcome = isSettled ? item.outcome : undefined;
  const variant = variants[item.variant]?.name;
  const { resultAssetId, output, achieved, warnings, errorCode, retryable, errorMessage, failedStep } =
    outcome ?? {};
  return {
    index,
    status: outcome?.status ?? item.status,
    ...(output !== undefined && { output: JSON.parse(output) }),
    ...(errorCode !== undefined && { retryable: retryable ?? false }),
    ...(sandboxModelsOf(variants.slice(item.variant, item.variant + 1)).length > 0 && { sandbox: true }),
    ...(job.type === 'chain' && stepOf(outcome !== undefined, progress?.segment ?? 0, failedStep, variants)),
    ...present({ assetId, variant, resultAssetId, achieved, warnings }),
    ...present({ errorCode, errorMessage, failedStep, startedAt }),
    ...present({
      durationMs: startedAt === undefined ? undefined : outcome?.durationMs,
      completedAt: outcome?.completedAt,
    }),
  };
}

/** The segment that an item is in: the one that failed, the last one of a finished item. */
function stepOf(
  isSettled: boolean,
  next: number,
  failedStep: number | undefined,
  variants: Definition['variants'],
) {
  const last = (variants[0]?.segments.length ?? 1) - 1;
  return { step: failedStep ?? (isSettled ? Math.min(next, last) : next) };
}

/** The one line that answers a submit or a wait. */
export function messageOf(job: JobDocument): string {
  return hasEnded(job) ? 'The job has ended: read its status.' : 'The job is under way.';
}
