import { setImmediate as giveWay } from 'node:timers/promises';
import { keyReusedError, requestInProgressError } from '../../../platform/http/hooks/idempotency.ts';
import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { DuplicateKeyError } from '../../../platform/stores/documents/port.ts';
import { retryUntilLeaseEnds } from '../../../platform/stores/outages.ts';
import { DAY_MS, HOUR_MS } from '../../../platform/values/units.ts';
import type { Caller } from '../../accounts/authentication.ts';
import { creditsHeldBy } from '../../billing/holds.ts';
import type { AccountSnapshot } from '../../billing/movements.ts';
import type { JobsContext } from '../context.ts';
import type { PendingClaim } from '../engine/active-job.ts';
import type { JobAdmission } from '../engine/admission.ts';
import type { JobRunner } from '../engine/runner.ts';
import {
  jobBytesExceededError,
  notLatestAttemptError,
  outputsExceedQuotaError,
  submitTimedOutError,
} from '../errors.ts';
import type { ItemDocument, JobDocument } from '../job.ts';
import { MAX_SUBMIT_MS } from '../store.ts';
import { JOB_TRANSITIONS } from '../transitions.ts';
import {
  type JobOrder,
  type NewItemFields,
  newItem,
  newJob,
  refusePriceAboveMax,
  type SubmitOptions,
} from './order.ts';

interface SubmissionOptions {
  admission: JobAdmission;
  runner: Pick<JobRunner, 'claimNew'>;
}

export interface SubmitResult {
  job: JobDocument;
  /** Whether the job was made by an earlier request with the same Idempotency-Key. */
  isReplayed: boolean;
}

/** The number of items that one write stores. It is small, because a write blocks the store. */
const ITEMS_PER_WRITE = 200;
/**
 * The maximum length of the rows in one write. With embedded stores, the write is one message to the process that holds
 * the documents.
 */
const MAX_ROW_CHARACTERS_PER_WRITE = 512 * 1024;
const ITEMS_PER_DELETION = 500;
/**
 * The maximum number of items of a job whose items are stored while its credits are still being held. If the hold
 * fails, there is then little to undo.
 */
const MAX_ITEMS_STORED_DURING_HOLD = 100;
/** How often a submit tries to store its job if the Idempotency-Key is taken. The key may become free in between. */
const MAX_INSERT_ATTEMPTS = 3;
const SWEEP_INTERVAL_MS = 15_000;
const SWEEP_BATCH_SIZE = 200;
/** The longest time that the work on an item can take. */
const MAX_ITEM_WORK_MS = HOUR_MS;

/**
 * Creates a job completely or not at all. The submit stores the job's document as hidden, holds the highest price,
 * stores the items, and then makes the job visible. A failure or a crash before the last step leaves a hidden job,
 * which is undone here or by the sweep. The undoing first changes the phase, so that a slow submit can no longer show
 * the job. It deletes the document last, so that it can be repeated after a crash.
 */
export class JobSubmission {
  readonly sweep: SweepTask = {
    name: 'unfinished submits',
    sweep: (now) => this.#undoAbandonedSubmits(now),
    intervalMs: SWEEP_INTERVAL_MS,
  };
  readonly #context: JobsContext;
  readonly #options: SubmissionOptions;

  constructor(context: JobsContext, options: SubmissionOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Submits a checked job.
   * @throws ApiError for a limit of the account, for missing credits, or for a used Idempotency-Key.
   */
  submit = async (caller: Caller, order: JobOrder, terms: SubmitOptions = {}): Promise<SubmitResult> => {
    const { holds, assets, plan, countAssets, topUpUrl, owner: submitter, now } = this.#context;
    const { retentionDays } = plan(caller.plan);
    const job = newJob(caller, order, terms, { retentionDays, submitter, now: now() });
    const { _id, accountId, reservedAssets } = job;
    const [snapshot, stored] = await Promise.all([
      holds.readSnapshot(accountId),
      reservedAssets === 0 ? 0 : countAssets(accountId),
    ]);
    const unusedQuota = this.#remainingQuota(job, stored);
    const earlier = await this.#insertHidden(job);
    if (earlier !== null) return { job: earlier, isReplayed: true };
    let claim: PendingClaim | undefined;
    try {
      // The price is checked before credits are held, so that a refused job leaves no rows in the ledger.
      refusePriceAboveMax(order, holds.priceOf(snapshot, order.need));
      if (reservedAssets > unusedQuota)
        throw outputsExceedQuotaError(reservedAssets, unusedQuota, topUpUrl());
      await this.#refuseExceededBytes(job);
      claim = this.#claimOnlyItem(job, order);
      const shown = await this.#startHidden(job, order, snapshot, claim);
      await assets.quota.confirm(accountId, _id);
      return { job: shown, isReplayed: false };
    } catch (error) {
      claim?.drop();
      const undo = () => this.#undo(job);
      // If a store is unavailable, the undoing is retried in the background until the store responds.
      await undo().catch(() => void retryUntilLeaseEnds(undo, MAX_SUBMIT_MS).catch(() => undefined));
      throw error;
    }
  };

  /** Stores a new job as hidden. If an earlier request used the same Idempotency-Key, its job is returned instead. */
  async #insertHidden(job: JobDocument): Promise<JobDocument | null> {
    for (let round = 0; round < MAX_INSERT_ATTEMPTS; round += 1) {
      try {
        await this.#context.jobs.insert(job);
        return null;
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        // A repeated resume violates two unique indexes, one on the key and one on the parent. The store may report
        // either, so the key is looked up in both cases.
        const earlier = await this.#findEarlierJob(job);
        if (earlier !== null) return earlier;
        if (error.index === 'parent') throw notLatestAttemptError();
      }
    }
    throw requestInProgressError();
  }

  /** The earlier job with the same Idempotency-Key. Null when the key is free, or was first used at least a day ago. */
  async #findEarlierJob({
    accountId,
    idempotencyKey,
    fingerprint,
  }: JobDocument): Promise<JobDocument | null> {
    const { jobs, now } = this.#context;
    const earlier = idempotencyKey === undefined ? null : await jobs.findByKey(accountId, idempotencyKey);
    if (earlier === null) return null;
    if (now().getTime() - Date.parse(earlier.createdAt) >= DAY_MS) {
      await jobs.forgetKey(accountId, earlier._id);
      return null;
    }
    if (fingerprint === undefined || earlier.fingerprint !== fingerprint) throw keyReusedError();
    if (earlier.phase === 'undone') {
      // The earlier submit was undone, so the key is free. What a store outage left of that submit is removed first.
      await this.#removeUndone(earlier);
      return null;
    }
    if (earlier.phase === 'hidden' || earlier.phase === 'leaving') throw requestInProgressError();
    return earlier;
  }

  /**
   * Refuses a job if the account's stored bytes would exceed the limit. The hidden job itself is included in the sum,
   * so that two concurrent submits cannot both pass.
   */
  async #refuseExceededBytes({ accountId, keptBytes }: JobDocument): Promise<void> {
    if (keptBytes === undefined) return;
    const all = await this.#context.jobs.sumKeptBytes(accountId);
    const limit = this.#context.maxKeptBytes;
    if (all > limit) throw jobBytesExceededError(keptBytes, all - keptBytes, limit);
  }

  /** Claims the only item of a job for this process, if its work can begin at once. */
  #claimOnlyItem(job: JobDocument, order: JobOrder): PendingClaim | undefined {
    const [seed] = order.totalItems === 1 ? order.iterateItems() : [];
    return (seed && this.#options.runner.claimNew(newItem(job, 0, seed), job.type)) ?? undefined;
  }

  /** Reserves everything that a hidden job needs, and then makes the job visible. */
  async #startHidden(
    job: JobDocument,
    order: JobOrder,
    snapshot: AccountSnapshot,
    claim: PendingClaim | undefined,
  ): Promise<JobDocument> {
    const { accountId, type } = job;
    const { admission } = this.#options;
    const { items, definitions, jobs } = this.#context;
    const holdAndQuota = settleAll([
      this.#context.holds.take(accountId, job._id, order.need, snapshot),
      this.#reserveQuota(job),
    ]);
    if (order.totalItems > MAX_ITEMS_STORED_DURING_HOLD) await holdAndQuota;
    const [[hold], waiting] = await settleAll([
      holdAndQuota,
      jobs.findOldestWaiting(accountId, type),
      definitions.insert(job, order.definition),
      claim === undefined ? this.#insertItems(job, order.iterateItems()) : items.insert([claim.item]),
    ]);
    refusePriceAboveMax(order, creditsHeldBy(hold));
    const shown = await admission.show(job, { hold }, { isNext: waiting === null, claim });
    if (shown === null) throw submitTimedOutError();
    return shown;
  }

  async #reserveQuota(job: JobDocument): Promise<void> {
    const { assets, plan, countAssets, topUpUrl } = this.#context;
    const { _id, accountId, reservedAssets: count } = job;
    if (await assets.quota.reserve(accountId, _id, count, plan(job.plan).storedAssets)) return;
    throw outputsExceedQuotaError(count, this.#remainingQuota(job, await countAssets(accountId)), topUpUrl());
  }

  #remainingQuota({ plan: planId }: JobDocument, stored: number): number {
    return Math.max(0, this.#context.plan(planId).storedAssets - stored);
  }

  async #insertItems(job: JobDocument, seeds: Iterable<NewItemFields>): Promise<void> {
    let batch: ItemDocument[] = [];
    let rowCharacters = 0;
    for (const item of Iterator.from(seeds).map((seed, index) => newItem(job, index, seed))) {
      batch.push(item);
      rowCharacters += item.row?.length ?? 0;
      if (batch.length < ITEMS_PER_WRITE && rowCharacters < MAX_ROW_CHARACTERS_PER_WRITE) continue;
      await this.#context.items.insert(batch);
      batch = [];
      rowCharacters = 0;
      await giveWay();
    }
    if (batch.length > 0) await this.#context.items.insert(batch);
  }

  /** Undoes a hidden job. If the job is already visible, it is left unchanged, and the result is false. */
  async #undo(job: JobDocument): Promise<boolean> {
    const claimed = await this.#context.jobs.move(job._id, JOB_TRANSITIONS.undo);
    const isOurs = claimed !== null || (await this.#context.jobs.get(job._id)) === null;
    if (isOurs) await this.#removeUndone(job);
    return isOurs;
  }

  /** Removes the documents and the hold of a submit, after its job has become `undone`. */
  async #removeUndone({ _id, accountId }: JobDocument): Promise<void> {
    const { holds, assets, items, definitions, jobs } = this.#context;
    await holds.undo(accountId, _id);
    await assets.quota.undo(accountId, _id);
    while ((await items.erase(_id, ITEMS_PER_DELETION)) > 0);
    await definitions.erase(_id);
    await jobs.erase(_id);
  }

  /**
   * For the sweep: undoes hidden jobs whose process died during the submit, and gives back the asset quota that they
   * reserved.
   */
  async #undoAbandonedSubmits(now: Date): Promise<number> {
    const { jobs, assets } = this.#context;
    const before = new Date(now.getTime() - MAX_SUBMIT_MS);
    let undone = 0;
    for (const job of await jobs.findInPhaseSince('hidden', before, SWEEP_BATCH_SIZE))
      if (await this.#undo(job)) undone += 1;
    const left = await jobs.findInPhaseSince('undone', before, SWEEP_BATCH_SIZE);
    for (const job of left) await this.#removeUndone(job);
    const reserved = await assets.quota.findStaleMarks(new Date(now.getTime() - MAX_ITEM_WORK_MS));
    for (const { accountId, jobId } of reserved) {
      const job = await jobs.get(jobId);
      if (job === null) await assets.quota.undo(accountId, jobId);
      else if (job.phase === 'done') await assets.quota.withdraw(accountId, jobId);
    }
    return undone + left.length;
  }
}

/**
 * Waits until all promises have settled, because nothing may be undone while a part is still running. Then throws the
 * first failure.
 */
async function settleAll<T extends readonly unknown[] | []>(works: T) {
  await Promise.allSettled(works);
  return Promise.all(works);
}
