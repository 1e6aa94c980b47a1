import { setImmediate as giveWay } from 'node:timers/promises';
import { keyReusedError, requestInProgressError } from '../../../platform/http/hooks/idempotency.ts';
import { newId } from '../../../platform/ids/ids.ts';
import { DuplicateKeyError } from '../../../platform/stores/documents/port.ts';
import { retryUntilLeaseEnds } from '../../../platform/stores/outages.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import type { Caller } from '../../accounts/authentication.ts';
import { creditsHeldBy } from '../../billing/holds.ts';
import type { AccountSnapshot } from '../../billing/movements.ts';
import type { JobsContext } from '../context.ts';
import { sandboxModelsOf, serializeDefinition } from '../definitions.ts';
import type { Preclaim } from '../engine/active-job.ts';
import type { JobEngine } from '../engine/open.ts';
import {
  jobBytesExceededError,
  notLatestAttemptError,
  outputsExceedQuotaError,
  submitTimedOutError,
} from '../errors.ts';
import { type ItemDocument, itemId, type JobDocument } from '../job.ts';
import { type JobOrder, type NewItemFields, refusePriceAboveMax } from './order.ts';
import type { SubmissionUndoing } from './undoing.ts';

/** The Idempotency-Key of a submit, and the fingerprint of its request. */
export interface SubmitIdempotencyKey {
  key: string;
  /** Null for a body that is too large for one. */
  fingerprint: string | null;
}

/** The attempt that a job resumes. */
type ResumedAttempt = Pick<JobDocument, '_id' | 'rootJobId' | 'attemptNumber'>;

export interface SubmitTerms {
  key?: SubmitIdempotencyKey | null;
  parent?: ResumedAttempt | null;
}

export interface SubmitResult {
  job: JobDocument;
  /** Whether an earlier request under the same key made the job. */
  isReplayed: boolean;
}

/** The number of items stored in one write. It is small, because the write blocks the store. */
const ITEMS_A_CALL = 200;
/** Smaller jobs do not count towards the account's limit, because the rate of calls limits their number. */
const MIN_KEPT_BYTES = 16 * 1024;
/** Bytes of an item's document and its index entries, without its row. */
const BYTES_PER_ITEM = 512;
/** After this time, the sweep undoes the submit. */
const UNDOING_MS = 5 * 60_000;
/** Up to this number, items are stored while credits are being held. If that fails, there is little to undo. */
const FEW_ITEMS = 100;
/** How often to try to store a job under a key that another process may just be freeing. */
const MAX_ROUNDS = 3;

/**
 * Makes a job completely or not at all. It stores the job's document as hidden, holds the highest price, stores the
 * items, and then shows the job. A failure or a crash before that leaves a hidden job, which is undone here or by the
 * sweep.
 */
export class JobSubmission {
  readonly #context: JobsContext;
  readonly #engine: JobEngine;
  readonly #undoing: SubmissionUndoing;

  constructor(context: JobsContext, { engine, undoing }: { engine: JobEngine; undoing: SubmissionUndoing }) {
    this.#context = context;
    this.#engine = engine;
    this.#undoing = undoing;
  }

  /**
   * Submits a checked job.
   * @throws ApiError of its limits, its credits or its key.
   */
  submit = async (
    caller: Caller,
    order: JobOrder,
    { key = null, parent = null }: SubmitTerms = {},
  ): Promise<SubmitResult> => {
    const { holds, assets, plan, countAssets, topUpUrl, now } = this.#context;
    const { retentionDays } = plan(caller.plan);
    const job = newJob(caller, order, { key, parent, retentionDays }, now());
    const { _id, accountId, reservedAssets } = job;
    const [snapshot, stored] = await Promise.all([
      holds.snapshot(accountId),
      reservedAssets === 0 ? 0 : countAssets(accountId),
    ]);
    const unusedQuota = this.#quotaLeft(job, stored);
    const earlier = await this.#insertHidden(job);
    if (earlier !== null) return { job: earlier, isReplayed: true };
    let claim: Preclaim | undefined;
    try {
      // The limit is checked before credits are held, so that a refused job leaves no rows in the ledger.
      refusePriceAboveMax(order, holds.priceOf(snapshot, order.need));
      if (reservedAssets > unusedQuota)
        throw outputsExceedQuotaError(reservedAssets, unusedQuota, topUpUrl());
      await this.#refuseOverfull(job);
      claim = this.#preclaim(job, order);
      const shown = await this.#startHidden(job, order, snapshot, claim);
      await assets.quota.confirm(accountId, _id);
      return { job: shown, isReplayed: false };
    } catch (error) {
      claim?.drop();
      await this.#undo(job);
      throw error;
    }
  };

  /** Stores a new job. If an earlier request used its key, the job of that request is returned. */
  async #insertHidden(job: JobDocument): Promise<JobDocument | null> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      try {
        await this.#context.jobs.insert(job);
        return null;
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        // A repeated resume violates both unique indexes, and stores differ in the one that they report.
        const earlier = await this.#earlierJob(job);
        if (earlier !== null) return earlier;
        if (error.index === 'parent') throw notLatestAttemptError();
      }
    }
    throw requestInProgressError();
  }

  /** The job under this key. Null when the key is free, or its day has just ended. */
  async #earlierJob({ accountId, idempotencyKey, fingerprint }: JobDocument) {
    const { jobs, now } = this.#context;
    const earlier = idempotencyKey === undefined ? null : await jobs.findByKey(accountId, idempotencyKey);
    if (earlier === null) return null;
    if (now().getTime() - Date.parse(earlier.createdAt) >= DAY_MS) {
      await jobs.forgetKey(accountId, earlier._id);
      return null;
    }
    if (fingerprint === undefined || earlier.fingerprint !== fingerprint) throw keyReusedError();
    if (earlier.phase === 'undone') {
      // Its submit has ended and freed the key. A store outage has left the rest of it, which is removed now.
      await this.#undoing.finish(earlier);
      return null;
    }
    if (earlier.phase === 'hidden' || earlier.phase === 'leaving') throw requestInProgressError();
    return earlier;
  }

  #quotaLeft({ plan: planId }: JobDocument, stored: number): number {
    return Math.max(0, this.#context.plan(planId).storedAssets - stored);
  }

  /**
   * Refuses a job that exceeds the account's limit of stored bytes. The sum includes the hidden job itself, so that two
   * concurrent submits see each other.
   */
  async #refuseOverfull({ accountId, keptBytes }: JobDocument): Promise<void> {
    if (keptBytes === undefined) return;
    const all = await this.#context.jobs.keptBytes(accountId);
    const limit = this.#context.keptBytesMax;
    if (all > limit) throw jobBytesExceededError(keptBytes, all - keptBytes, limit);
  }

  async #reserveQuota(job: JobDocument): Promise<void> {
    const { assets, plan, countAssets, topUpUrl } = this.#context;
    const { _id, accountId, reservedAssets: count } = job;
    if (await assets.quota.reserve(accountId, _id, count, plan(job.plan).storedAssets)) return;
    throw outputsExceedQuotaError(count, this.#quotaLeft(job, await countAssets(accountId)), topUpUrl());
  }

  async #insertItems(job: JobDocument, seeds: Iterable<NewItemFields>): Promise<void> {
    let batch: ItemDocument[] = [];
    for (const item of Iterator.from(seeds).map((seed, index) => newItem(job, index, seed))) {
      batch.push(item);
      if (batch.length < ITEMS_A_CALL) continue;
      await this.#context.items.insert(batch);
      batch = [];
      await giveWay();
    }
    if (batch.length > 0) await this.#context.items.insert(batch);
  }

  /** Stores the definition and the items of the job. */
  async #storeWork(job: JobDocument, order: JobOrder, claim: Preclaim | undefined): Promise<void> {
    const { jobs, items, definitions } = this.#context;
    const definition = serializeDefinition(order.definition);
    definitions.keep(job._id, definition);
    const stored = claim === undefined ? this.#insertItems(job, order.seeds()) : items.insert([claim.item]);
    await settleAll([jobs.insertDefinition(job, definition), stored]);
  }

  /** Holds everything that a hidden job needs, and then shows the job. */
  async #startHidden(
    job: JobDocument,
    order: JobOrder,
    snapshot: AccountSnapshot,
    claim: Preclaim | undefined,
  ): Promise<JobDocument> {
    const { accountId, type } = job;
    const money = settleAll([
      this.#context.holds.take(accountId, job._id, order.need, snapshot),
      this.#reserveQuota(job),
    ]);
    if (order.totalItems > FEW_ITEMS) await money;
    const [[hold], hasWaiting] = await settleAll([
      money,
      this.#engine.admission.hasWaiting(accountId, type),
      this.#storeWork(job, order, claim),
    ]);
    refusePriceAboveMax(order, creditsHeldBy(hold));
    const shown = await this.#engine.admission.show(job, { hold }, { isNext: !hasWaiting, preclaim: claim });
    if (shown === null) throw submitTimedOutError();
    return shown;
  }

  /** Claims the only item of a job for this process, if this process can work on it at once. */
  #preclaim(job: JobDocument, order: JobOrder): Preclaim | undefined {
    const [seed] = order.totalItems === 1 ? order.seeds() : [];
    return (seed && this.#engine.runner.preclaim(newItem(job, 0, seed), job.type)) ?? undefined;
  }

  /** Undoes a submit before its response is sent, or during a store outage as soon as the store is back. */
  async #undo(job: JobDocument): Promise<void> {
    const step = () => this.#undoing.undo(job);
    await step().catch(() => void retryUntilLeaseEnds(step, UNDOING_MS).catch(() => undefined));
  }
}

/**
 * The results of all works. A failure is thrown only when all have ended, so that nothing is undone while a part still
 * runs.
 */
async function settleAll<T extends readonly unknown[] | []>(works: T) {
  await Promise.allSettled(works);
  return Promise.all(works);
}

function newItem({ _id: jobId, accountId }: JobDocument, index: number, seed: NewItemFields): ItemDocument {
  return {
    _id: itemId(jobId, index),
    jobId,
    accountId,
    index,
    ...seed,
    status: 'PENDING',
    queue: 'ready',
    epoch: 0,
    tries: 0,
    deaths: 0,
  };
}

/** Bytes that a job stores for its request and its items. */
function keptBytesOf({ definition, totalItems, seeds }: JobOrder): number {
  let bytes = Buffer.byteLength(serializeDefinition(definition)) + totalItems * BYTES_PER_ITEM;
  if (definition.takes !== 'rows') return bytes;
  for (const { row = '' } of seeds()) bytes += Buffer.byteLength(row);
  return bytes;
}

function newJob(
  { accountId, plan, apiKeyId }: Caller,
  order: JobOrder,
  {
    key,
    parent,
    retentionDays,
  }: { key: SubmitIdempotencyKey | null; parent: ResumedAttempt | null; retentionDays: number },
  now: Date,
): JobDocument {
  const _id = newId('job', now.getTime());
  const createdAt = now.toISOString();
  const { head, definition, totalItems, need, maxOutputs } = order;
  const keptBytes = keptBytesOf(order);
  return {
    _id,
    accountId,
    plan,
    apiKeyId,
    phase: 'hidden',
    phaseAt: createdAt,
    shown: 0,
    status: 'PENDING',
    ...head,
    ...(sandboxModelsOf(definition.variants).length > 0 && { sandbox: true as const }),
    usageKey: head.op ?? head.type,
    totalItems,
    completedItems: 0,
    failedItems: 0,
    cancelledItems: 0,
    settledItems: 0,
    usedRuns: 0,
    usedCredits: 0,
    outputs: 0,
    hold: { ...need, period: '', past: 0, overageCredits: 0 },
    ...(keptBytes >= MIN_KEPT_BYTES && { keptBytes }),
    reservedAssets: maxOutputs,
    settlement: null,
    attemptNumber: (parent?.attemptNumber ?? 0) + 1,
    rootJobId: parent?.rootJobId ?? _id,
    ...withoutAbsentFields({
      parentJobId: parent?._id,
      idempotencyKey: key?.key,
      fingerprint: key?.fingerprint,
    }),
    createdAt,
    day: createdAt.slice(0, 10),
    expiresAt: new Date(now.getTime() + retentionDays * DAY_MS).toISOString(),
  };
}
