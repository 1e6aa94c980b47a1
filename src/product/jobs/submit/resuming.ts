import { setImmediate as giveWay, setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import { inBatches } from '../../../platform/values/batches.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { Caller } from '../../accounts/authentication.ts';
import type { AssetStatus } from '../../assets/asset.ts';
import type { JobsContext } from '../context.ts';
import { creditsPerVariantItem, type JobDefinition, runsPerItem } from '../definitions.ts';
import {
  assetsMissingError,
  jobBeingResumedError,
  MAX_RESUMES,
  nothingToResumeError,
  notLatestAttemptError,
  notResumableYetError,
  resumedTooOftenError,
} from '../errors.ts';
import { type ItemDocument, type JobDocument, wasNeverShown } from '../job.ts';
import type { JobReader } from '../reading.ts';
import type { JobOrder, NewItemFields, SubmitIdempotencyKey, SubmitOptions } from './order.ts';
import type { JobSubmission, SubmitResult } from './submitting.ts';

interface ResumingOptions {
  reading: JobReader;
  submit: JobSubmission['submit'];
}

interface ResumeOptions {
  key: SubmitIdempotencyKey | null;
  /** The highest price that the caller accepts, in credits. */
  maxCredits?: number | undefined;
}

interface ResumeResult extends SubmitResult {
  order: JobOrder;
}

const MAX_NOT_RETRYABLE_INDEXES = 100;
/** The number of items that are read and checked at a time. Other calls are served in between. */
const ITEMS_PER_READ = 200;
/**
 * How often a new attempt is polled until it is visible, in case another call is submitting it. That usually takes
 * milliseconds. If the process of that call died, it takes minutes until the attempt is undone.
 */
const ATTEMPT_POLL_INTERVAL_MS = 50;
const MAX_ATTEMPT_POLLS = 40;

/** Submits a new attempt of a job for its failed and cancelled items. */
export class JobResuming {
  readonly #context: JobsContext;
  readonly #options: ResumingOptions;

  constructor(context: JobsContext, options: ResumingOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** The order that `resume` would submit, without submitting it, for a dry run. */
  async preview(caller: Caller, jobId: string, maxCredits?: number): Promise<JobOrder> {
    return (await this.#orderFor(caller, jobId, { key: null, maxCredits })).order;
  }

  /**
   * Submits a new attempt of a job for its failed and cancelled items.
   * @throws ApiError when the job cannot be resumed; the errors of a submit.
   */
  async resume(caller: Caller, jobId: string, terms: ResumeOptions): Promise<ResumeResult> {
    const { parent, order } = await this.#orderFor(caller, jobId, terms);
    return { ...(await this.#submitNext(caller, jobId, order, { key: terms.key, parent })), order };
  }

  /**
   * Builds the order that runs the unfinished items of a job again.
   * @throws ApiError when the job cannot be resumed.
   */
  async #orderFor(
    { accountId }: Caller,
    jobId: string,
    { key, maxCredits }: ResumeOptions,
  ): Promise<{ parent: JobDocument; order: JobOrder }> {
    const parent = await this.#options.reading.find(accountId, jobId);
    const { status } = parent;
    if (status !== 'FAILED' && status !== 'CANCELLED') throw notResumableYetError(parent);
    await this.#refuseResumed(accountId, jobId, key);
    if (parent.attemptNumber > MAX_RESUMES) throw resumedTooOftenError();
    const remaining = await this.#findRemaining(parent);
    if (remaining.length === 0) throw nothingToResumeError(status);
    const kept = await this.#withSources(accountId, remaining);
    const definition = await this.#context.definitions.find(jobId);
    const order = orderOf(parent, definition, kept);
    return { parent, order: { ...order, maxCredits, notRetryableItems: notRetryableIndexesOf(kept) } };
  }

  /**
   * Refuses a job that already has a newer attempt. An attempt that is still being submitted is awaited first, because
   * its submit may fail.
   * @throws ApiError job_not_resumable, request_in_progress
   */
  async #refuseResumed(accountId: string, jobId: string, key: SubmitIdempotencyKey | null): Promise<void> {
    for (let polls = 1; ; polls += 1) {
      const child = await this.#context.jobs.findChild(accountId, jobId);
      // If an earlier sending of this same request made the newer attempt, nothing is refused: the submit finds that
      // attempt and returns it.
      if (child === null || (key !== null && child.idempotencyKey === key.key)) return;
      if (!wasNeverShown(child)) throw notLatestAttemptError();
      if (polls === MAX_ATTEMPT_POLLS) throw jobBeingResumedError();
      await pause(ATTEMPT_POLL_INTERVAL_MS);
    }
  }

  /** The failed and cancelled items, in the order of the job. */
  async #findRemaining({ _id }: JobDocument): Promise<ItemDocument[]> {
    const remaining: ItemDocument[] = [];
    for await (const part of this.#context.items.readBatches(_id, ['FAILED', 'CANCELLED'], ITEMS_PER_READ)) {
      remaining.push(...part);
      await giveWay();
    }
    return remaining;
  }

  /** Leaves out items whose source was deleted. In a chain, only the first segment needs the source. */
  async #withSources(accountId: string, remaining: readonly ItemDocument[]): Promise<ItemDocument[]> {
    const needed = remaining.filter(({ progress }) => progress === undefined);
    const ids = needed.flatMap(({ assetId }) => assetId ?? []);
    if (ids.length === 0) return [...remaining];
    const statuses = new Map<string, AssetStatus>();
    for (const batch of inBatches(ids, ITEMS_PER_READ)) {
      for (const [id, status] of await this.#context.assets.store.findStatuses(accountId, batch))
        statuses.set(id, status);
      await giveWay();
    }
    const hasSource = ({ assetId, progress }: ItemDocument) =>
      assetId === null || progress !== undefined || statuses.has(assetId);
    const kept = remaining.filter(hasSource);
    if (kept.length > 0) return kept;
    throw assetsMissingError([...new Set(ids)].filter((id) => !statuses.has(id)));
  }

  /** Submits the new attempt. If another request has submitted one in the meantime, that attempt is returned. */
  async #submitNext(caller: Caller, jobId: string, order: JobOrder, terms: Required<SubmitOptions>) {
    for (;;) {
      try {
        return await this.#options.submit(caller, order, terms);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'job_not_resumable') throw error;
        await this.#refuseResumed(caller.accountId, jobId, terms.key);
      }
    }
  }
}

function orderOf(
  parent: JobDocument,
  definition: JobDefinition,
  remaining: readonly ItemDocument[],
): JobOrder {
  const { type, op, model, collection, presetId, presetName, presetVersion } = parent;
  const seeds = remaining.map(newItemFieldsOf);
  const need = { runs: 0, credits: 0 };
  for (const { variant: index, progress } of seeds) {
    const { segments, credits } = definition.variants[index] ?? { segments: [], credits: [] };
    // Finished segments are paid for already, so only the remaining ones count.
    const from = progress?.segment ?? 0;
    need.runs += runsPerItem({ segments: segments.slice(from) });
    need.credits += creditsPerVariantItem({ credits: credits.slice(from) });
  }
  return {
    head: { type, op, model, collection, presetId, presetName, presetVersion },
    definition,
    totalItems: seeds.length,
    need,
    maxOutputs: definition.produces === 'image' ? seeds.length : 0,
    iterateItems: () => seeds,
    warnings: [],
  };
}

function notRetryableIndexesOf(remaining: readonly ItemDocument[]): number[] {
  const failedForGood = remaining.filter(
    ({ outcome }) => outcome?.status === 'FAILED' && outcome.retryable !== true,
  );
  return failedForGood.slice(0, MAX_NOT_RETRYABLE_INDEXES).map(({ index }) => index);
}

function newItemFieldsOf({
  index,
  rootIndex = index,
  assetId,
  variant,
  row,
  progress,
}: ItemDocument): NewItemFields {
  return {
    assetId,
    variant,
    rootIndex,
    ...withoutAbsentFields({
      row,
      progress: progress && { ...progress, runs: 0, credits: 0 },
      inherits: progress?.objectKey,
    }),
  };
}
