import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { HOUR_MS } from '../../../platform/values/units.ts';
import type { JobsContext } from '../context.ts';
import { removeIntermediates } from '../intermediates.ts';
import type { ClaimedItem, ItemDocument, JobDocument } from '../job.ts';
import { claimLossCounterOf, isPoisonItem, poisonItemOutcome } from '../rules.ts';
import { JOB_TRANSITIONS } from '../transitions.ts';
import type { CompletionOptions, JobCompletion } from './completion.ts';
import type { JobMetrics } from './metrics.ts';
import type { DecidedItem } from './outcomes.ts';
import { sendJobSignal } from './signals.ts';

interface SweepsOptions extends CompletionOptions {
  completion: JobCompletion;
  metrics: JobMetrics;
}

const SWEEP_INTERVAL_MS = 15_000;
/**
 * The age from which the sweep handles a decided outcome or an ended job. Before that, the process that owns it is
 * probably still alive.
 */
const MIN_STALE_AGE_MS = 10_000;
/** The age from which the sweep continues the removal of a job. A live process would have finished it by then. */
const MIN_STUCK_REMOVAL_AGE_MS = 5 * 60_000;
/** The time after which work on an item has certainly ended. */
const MAX_ITEM_WORK_MS = HOUR_MS;
/** How long owners may renew their claims after an outage, before the sweep treats the claims as expired. */
const LEASE_RENEWAL_GRACE_MS = 12_000;
const SWEEP_BATCH_SIZE = 200;
const ITEM_BATCH_SIZE = 500;

/**
 * Cleans up jobs and items after dead processes, lost messages and expiry. A sweep may run in several processes at
 * once, because every step has a condition that lets it take effect only once. Each sweep returns how many documents it
 * changed; what it cannot change is left for the next round.
 */
export class JobSweeps {
  readonly #context: JobsContext;
  readonly #options: SweepsOptions;
  #lastLeaseSweepMs = performance.now();
  #didLastReadFail = false;
  #renewalGraceEndsMs = 0;

  constructor(context: JobsContext, options: SweepsOptions) {
    this.#context = context;
    this.#options = options;
  }

  get tasks(): SweepTask[] {
    const sweeps: Record<string, SweepTask['sweep']> = {
      'leases of items': (now) => this.#sweepExpiredLeases(now),
      'retries of items': () => this.#sweepRetries(),
      'settlements of items': (now) => this.#sweepDecidedItems(now),
      'waiting jobs': () => this.#startWaitingJobs(),
      'ended jobs': (now) => this.#sweepEndedJobs(now),
      'outputs without an item': (now) => this.#sweepOutputs(now),
      'expired jobs': (now) => this.#sweepExpiredJobs(now),
    };
    return Object.entries(sweeps).map(([name, sweep]) => ({ name, sweep, intervalMs: SWEEP_INTERVAL_MS }));
  }

  /**
   * Records decided outcomes that no process has recorded.
   * @returns the number of recorded items. Items of jobs that no longer exist are not counted.
   */
  async #recordStaleOutcomes(stale: readonly ItemDocument[]): Promise<number> {
    const byJob = Map.groupBy(stale, ({ jobId }) => jobId);
    let recorded = 0;
    for (const [jobId, decided] of byJob) {
      const batch = decided.filter((item): item is ItemDocument & DecidedItem => item.outcome !== undefined);
      const job = await this.#options.outcomes.record(jobId, batch);
      if (job === null) continue;
      recorded += batch.length;
      await this.#options.completion.completeIfOver(job);
    }
    return recorded;
  }

  /**
   * Finds claims whose lease has expired. After an outage of the document store, or after a pause of this process,
   * owners first get time to renew their claims; until then, only claims of processes that are known to have ended are
   * returned.
   */
  async #findExpiredLeases(): Promise<ClaimedItem[]> {
    const wasPaused = performance.now() - this.#lastLeaseSweepMs > 2 * SWEEP_INTERVAL_MS;
    if (this.#didLastReadFail || wasPaused)
      this.#renewalGraceEndsMs = performance.now() + LEASE_RENEWAL_GRACE_MS;
    this.#lastLeaseSweepMs = performance.now();
    this.#didLastReadFail = true;
    const expired = await this.#context.items.findExpiredLeases(SWEEP_BATCH_SIZE);
    this.#didLastReadFail = false;
    if (performance.now() >= this.#renewalGraceEndsMs) return expired;
    return expired.filter((item) => claimLossCounterOf(item) === 'deaths');
  }

  /**
   * Ends the expired claims of processes that died or do not respond. The items become ready for other processes, or
   * fail.
   */
  async #sweepExpiredLeases(now: Date): Promise<number> {
    const expired = await this.#findExpiredLeases();
    const jobIdsToWake = new Set<string>();
    let ended = 0;
    for (const item of expired) {
      if (isPoisonItem(item)) {
        this.#options.metrics.countExpiredLease('poison');
        const outcome = poisonItemOutcome(item, now);
        // The owner may still be alive and may just have finished a segment, which must be billed. If so, nothing is
        // decided here, and the item is left to the next sweep.
        const asRead = { 'progress.segment': item.progress?.segment ?? null };
        if (!(await this.#context.items.decide(item, outcome, asRead))) continue;
        ended += 1;
        await this.#recordStaleOutcomes([{ ...item, outcome }]);
        continue;
      }
      this.#options.metrics.countExpiredLease('again');
      if (await this.#context.items.giveBack(item, claimLossCounterOf(item))) ended += 1;
      jobIdsToWake.add(item.jobId);
    }
    for (const jobId of jobIdsToWake) {
      const job = await this.#context.jobs.get(jobId);
      if (job?.status === 'CANCELLING') await this.#options.completion.completeIfOver(job);
      else sendJobSignal(this.#context, 'work', jobId);
    }
    return ended;
  }

  async #sweepRetries(): Promise<number> {
    const { promoted, jobIds } = await this.#context.items.promote(ITEM_BATCH_SIZE);
    for (const jobId of jobIds) sendJobSignal(this.#context, 'work', jobId);
    return promoted;
  }

  async #sweepDecidedItems(now: Date): Promise<number> {
    return this.#recordStaleOutcomes(
      await this.#context.items.findDecidedBefore(instantBefore(now, MIN_STALE_AGE_MS), SWEEP_BATCH_SIZE),
    );
  }

  /**
   * Starts jobs that are waiting although a slot is free, and wakes the runners for running jobs with unclaimed items.
   */
  async #startWaitingJobs(): Promise<number> {
    for (const { accountId, type } of await this.#context.jobs.findWaitingGroups())
      await this.#options.admission.startWaiting(accountId, type);
    return 0;
  }

  async #sweepEndedJobs(now: Date): Promise<number> {
    let moved = 0;
    for (const job of await this.#context.jobs.findPossiblyComplete(SWEEP_BATCH_SIZE)) {
      const { phase } = await this.#options.completion.completeIfOver(job);
      if (phase !== 'open') moved += 1;
    }
    const before = instantBefore(now, MIN_STALE_AGE_MS);
    const ended = await this.#context.jobs.findInPhaseSince('ended', before, SWEEP_BATCH_SIZE);
    for (const job of ended) if (await this.#options.completion.cleanUp(job)) moved += 1;
    return moved;
  }

  /** Removes outputs that belong to no recorded item, because their process died or lost its claim. */
  async #sweepOutputs(now: Date): Promise<number> {
    const before = instantBefore(now, MAX_ITEM_WORK_MS);
    const outputs = await this.#context.assets.store.findHiddenOutputs(before, SWEEP_BATCH_SIZE);
    let discarded = 0;
    for (const { _id, accountId, jobId, itemIndex } of outputs) {
      const [item] = await this.#context.items.findByIndexes(jobId ?? '', [itemIndex ?? 0]);
      if (item?.outcome?.resultAssetId === _id) continue;
      await this.#context.assets.outputs.discard(accountId, _id);
      discarded += 1;
    }
    return discarded;
  }

  /** Removes an expired job and its results, in several steps. */
  async #removeJob(job: JobDocument): Promise<void> {
    while ((await this.#context.assets.outputs.removeByJob(job.accountId, job._id, SWEEP_BATCH_SIZE)) > 0);
    await removeIntermediates(this.#context, job);
    while ((await this.#context.items.erase(job._id, ITEM_BATCH_SIZE)) > 0);
    await this.#context.definitions.erase(job._id);
    await this.#context.jobs.erase(job._id);
  }

  async #sweepExpiredJobs(now: Date): Promise<number> {
    const before = instantBefore(now, MIN_STUCK_REMOVAL_AGE_MS);
    const leaving = await this.#context.jobs.findInPhaseSince('leaving', before, SWEEP_BATCH_SIZE);
    for (const job of leaving) await this.#removeJob(job);
    let removed = leaving.length;
    for (const { _id } of await this.#context.jobs.findExpired(now, 10)) {
      const leaving = await this.#context.jobs.move(_id, JOB_TRANSITIONS.expire);
      if (leaving === null) continue;
      await this.#removeJob(leaving);
      removed += 1;
    }
    return removed;
  }
}

function instantBefore(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms);
}
