import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { JsonText } from '../../platform/http/long-answers.ts';
import { hintFirst, likelyNames, meantWordHint } from '../../platform/ids/nearest.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { promptWithDescriptors } from '../catalogue/plan/subjects.ts';
import { type JobDefinition, sandboxModelsOf } from './definitions.ts';
import { hasEnded, type ItemDocument, type JobDocument, type ShownItem } from './job.ts';
import type { PlanSegment } from './plan.ts';
import { jobOutcomeOf } from './rules.ts';
import { Job, type JobItem, JobSummary, type JobViewQuery, MAX_ITEMS_IN_JOB_RESPONSE } from './schema.ts';

/** A job as the API shows it in a listing. */
export function jobSummaryOf(job: JobDocument): JobSummary {
  const { _id: id, status, type, totalItems, completedItems, failedItems, cancelledItems } = job;
  const { op, model, sandbox, collection, presetId, presetName, presetVersion } = job;
  const { attemptNumber, parentJobId, rootJobId, createdAt, expiresAt } = job;
  const end = hasEnded(job) ? job : undefined;
  const outcome = jobOutcomeOf(job);
  return {
    object: 'job',
    id,
    status,
    type,
    totalItems,
    completedItems,
    failedItems,
    cancelledItems,
    ...withoutAbsentFields({ outcome, op, model, sandbox, collection, presetId, presetName, presetVersion }),
    actualCredits: end?.actualCredits ?? 0,
    ...(end?.errorCode !== undefined && { errorCode: end.errorCode, retryable: end.retryable ?? false }),
    ...withoutAbsentFields({ errorMessage: end?.errorMessage }),
    attemptNumber,
    ...withoutAbsentFields({ parentJobId, completedAt: end?.completedAt }),
    rootJobId,
    createdAt,
    expiresAt,
  };
}

/**
 * A job as the API shows it.
 * @param items the items to show within the job; an empty list leaves out the field.
 */
export function jobDataOf(job: JobDocument, definition: JobDefinition, items: readonly ItemDocument[]): Job {
  const { prompt, references, variants } = definition;
  const parameters = parametersOf(definition, items);
  return {
    ...jobSummaryOf(job),
    ...withoutAbsentFields({ prompt, parameters }),
    ...(references.length > 0 && { references }),
    ...(job.type === 'process' && { pipelines: variants.map(pipelineOf) }),
    ...(job.type === 'chain' && { segments: (variants[0]?.segments ?? []).map(segmentOf(definition)) }),
    ...(items.length > 0 && { items: items.map((item) => jobItemDataOf(item, job, definition)) }),
    ...(job.totalItems > items.length && { itemsTruncated: true }),
  };
}

/**
 * The parameters of a job. For a render, they include the rows of the shown items only, because rows are stored with
 * their items.
 */
function parametersOf({ takes, parameters }: JobDefinition, items: readonly ItemDocument[]) {
  if (takes !== 'rows') return parameters;
  if (items.length === 0) return undefined;
  return { items: items.map(({ row = '{}' }) => new JsonText(row)) };
}

function pipelineOf({ name, segments: [segment] }: JobDefinition['variants'][number]) {
  const steps = segment?.runs === 'pass' ? segment.pipeline : [];
  return { ...withoutAbsentFields({ variant: name }), steps };
}

function segmentOf({ subjects }: JobDefinition) {
  return (segment: PlanSegment) => {
    const { index, stepIndexes } = segment;
    if (segment.runs === 'pass') return { index, type: 'process', pipeline: segment.pipeline, stepIndexes };
    const { jobType: type, op, model, prompt, parameters } = segment;
    return {
      index,
      type,
      op,
      model,
      ...withoutAbsentFields({ prompt: prompt && promptWithDescriptors(prompt, subjects) }),
      parameters,
      stepIndexes,
    };
  };
}

/**
 * An item as the API shows it. An outcome that the job has counted is shown even if the document of the item does not
 * have its final status yet.
 */
export function jobItemDataOf(item: ShownItem, job: JobDocument, { variants }: JobDefinition): JobItem {
  const { index, assetId, startedAt, progress, tries, lastError } = item;
  const isCounted = job.settlement?.items.some((settled) => settled.index === index) ?? false;
  const isSettled = item.queue === undefined || (item.queue === 'decided' && isCounted);
  const outcome = isSettled ? item.outcome : undefined;
  const variant = variants[item.variant]?.name;
  // An item of a chain shows one segment: the failed one, the next one, or the last one.
  const next = progress?.segment ?? 0;
  const last = (variants[0]?.segments.length ?? 1) - 1;
  const isUndone = outcome?.status !== 'COMPLETED' && outcome?.status !== 'FAILED';
  // An item is claimed before a worker is free for it. One that was cancelled before its work began has no start.
  const neverRan = outcome?.status === 'CANCELLED' && progress === undefined && lastError === undefined;
  const times = neverRan || startedAt === undefined ? {} : { startedAt, durationMs: outcome?.durationMs };
  const { resultAssetId, output, achieved, warnings, errorCode, retryable, errorMessage, failedStep } =
    outcome ?? {};
  return {
    index,
    status: outcome?.status ?? item.status,
    ...(output !== undefined && { output: new JsonText(output) }),
    ...(errorCode !== undefined && { retryable: retryable ?? false }),
    ...(sandboxModelsOf(variants.slice(item.variant, item.variant + 1)).length > 0 && { sandbox: true }),
    ...(job.type === 'chain' && {
      step: failedStep ?? (outcome === undefined ? next : Math.min(next, last)),
    }),
    ...withoutAbsentFields({ assetId, variant, resultAssetId, achieved, warnings }),
    ...withoutAbsentFields({ errorCode, errorMessage, failedStep, ...times }),
    ...(isUndone && lastError !== undefined && { attempts: tries, lastError }),
    ...withoutAbsentFields({ completedAt: outcome?.completedAt }),
  };
}

/** The message in the response to a submit or a wait. */
export function jobMessageOf(job: JobDocument): string {
  return hasEnded(job) ? 'The job has ended: read its status.' : 'The job is under way.';
}

/** What a response shows of a job. */
export interface JobView {
  /** The names of the fields to show; undefined for all. */
  fields: ReadonlySet<string> | undefined;
  /** The maximum number of items that the response shows within the job. */
  maxItems: number;
}

const SUMMARY_FIELDS = Object.keys(JobSummary.properties);

/**
 * Parses `fields` and `items` of a query.
 * @param allowed the names that `fields` may contain. Default: those of a job.
 * @throws ApiError invalid_param on fields
 */
export function parseJobView(
  { fields, items = MAX_ITEMS_IN_JOB_RESPONSE }: JobViewQuery,
  allowed: readonly string[] = Object.keys(Job.properties),
): JobView {
  // For the replay of an idempotent call, the query is not validated yet, so numbers are still text.
  const maxItems = Number(items);
  if (fields === undefined) return { fields, maxItems };
  const names = new Set(fields.split(',').map((name) => name.trim()));
  const unknown = [...names].find((name) => !allowed.includes(name));
  if (unknown !== undefined) {
    const message = `fields names ${JSON.stringify(unknown)}, which no job has: use names of ${allowed.join(', ')}, separated by commas.`;
    const words = likelyNames(unknown, allowed);
    const [meant] = words;
    const corrected = [...names].map((name) => (name === unknown ? meant : name)).join(',');
    const corrections = words.length === 1 ? [{ param: 'fields', replace: corrected }] : [];
    const details = { received: unknown, allowed };
    throw invalidParamError('fields', hintFirst(meantWordHint(words), message), details, corrections);
  }
  const showsItems = ['items', 'itemsTruncated', 'parameters'].some((name) => names.has(name));
  return { fields: names, maxItems: showsItems ? maxItems : 0 };
}

/** Parses the view of a list of jobs, which shows no items. */
export function parseJobListView(query: Pick<JobViewQuery, 'fields'>): JobView {
  return parseJobView(query, SUMMARY_FIELDS);
}

/** Whether the job document alone contains everything that a view shows. */
export function isSummaryView({ fields }: JobView): boolean {
  return fields !== undefined && [...fields].every((name) => SUMMARY_FIELDS.includes(name));
}

export function selectJobFields<T extends object>(job: T, { fields }: JobView): T | Partial<T> {
  if (fields === undefined) return job;
  return Object.fromEntries(Object.entries(job).filter(([name]) => fields.has(name))) as Partial<T>;
}
