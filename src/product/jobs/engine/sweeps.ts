import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { HOUR_MS } from '../../../platform/values/units.ts';
import type { JobsContext } from '../context.ts';
import { removeIntermediates } from '../intermediates.ts';
import { type ClaimedItem, type ItemDocument, itemId, type JobDocument } from '../job.ts';
import { claimLossCounterOf, isPoisonItem, poisonItemOutcome } from '../rules.ts';
import { JOB_TRANSITIONS } from '../transitions.ts';
import type { JobAdmission } from './admission.ts';
import type { JobCompletion } from './completion.ts';
import type { JobMetrics } from './metrics.ts';
import type { Decided, OutcomeRecorder } from './outcomes.ts';
import type { JobSignals } from './signals.ts';

interface SweepsOptions {
  outcomes: OutcomeRecorder;
  completion: JobCompletion;
  admission: JobAdmission;
  signals: JobSignals;
  metrics: JobMetrics;
}

const INTERVAL_MS = 15_000;
/** Younger outcomes and jobs probably still belong to a live process. */
const RECORDING_MS = 10_000;
/** A live process has removed a job by then. */
const REMOVING_MS = 5 * 60_000;
/** Longer than the work on any item. */
const WORKING_MS = HOUR_MS;
/** The time within which owners renew their claims after an outage. */
const RENEWING_MS = 12_000;
const SWEEP_BATCH_SIZE = 200;
const ITEMS_AT_A_TIME = 500;

/**
 * Sweeps for jobs and items that dead processes, lost messages and expiry have left. Each sweep may run in any process,
 * and in several at once, because every step has a condition that lets it take effect only once. A sweep returns how
 * many documents it changed, not how many it read; those that it cannot change are left for the next round.
 */
export class JobSweeps {
  readonly #context: JobsContext;
  readonly #parts: SweepsOptions;
  #lookedMs = performance.now();
  #wasSilent = false;
  #sparesUntilMs = 0;

  constructor(context: JobsContext, parts: SweepsOptions) {
    this.#context = context;
    this.#parts = parts;
  }

  get tasks(): SweepTask[] {
    return [
      { name: 'leases of items', sweep: (now) => this.#leases(now), intervalMs: INTERVAL_MS },
      { name: 'retries of items', sweep: () => this.#retries(), intervalMs: INTERVAL_MS },
      { name: 'settlements of items', sweep: (now) => this.#settlements(now), intervalMs: INTERVAL_MS },
      { name: 'waiting jobs', sweep: () => this.#admissions(), intervalMs: INTERVAL_MS },
      { name: 'ended jobs', sweep: (now) => this.#endings(now), intervalMs: INTERVAL_MS },
      { name: 'outputs without an item', sweep: (now) => this.#outputs(now), intervalMs: INTERVAL_MS },
      { name: 'expired jobs', sweep: (now) => this.#expired(now), intervalMs: INTERVAL_MS },
    ];
  }

  /** @returns how many of the items were recorded, without those of jobs that do not exist any more. */
  async #recordStale(stale: readonly ItemDocument[]): Promise<number> {
    const byJob = Map.groupBy(stale, ({ jobId }) => jobId);
    let recorded = 0;
    for (const [jobId, decided] of byJob) {
      const batch = decided.filter((item): item is ItemDocument & Decided => item.outcome !== undefined);
      const job = await this.#parts.outcomes.record(jobId, batch);
      if (job === null) continue;
      recorded += batch.length;
      await this.#parts.completion.completeIfOver(job);
    }
    return recorded;
  }

  /**
   * Claims whose lease has expired. After an outage of the document store, or a pause of this process, owners get time
   * to renew their claims. Until then, only claims of processes that were seen to end are taken.
   */
  async #overdue(): Promise<ClaimedItem[]> {
    const wasPaused = performance.now() - this.#lookedMs > 2 * INTERVAL_MS;
    if (this.#wasSilent || wasPaused) this.#sparesUntilMs = performance.now() + RENEWING_MS;
    this.#lookedMs = performance.now();
    this.#wasSilent = true;
    const expired = await this.#context.items.expiredLeases(SWEEP_BATCH_SIZE);
    this.#wasSilent = false;
    if (performance.now() >= this.#sparesUntilMs) return expired;
    return expired.filter((item) => claimLossCounterOf(item) === 'deaths');
  }

  /** Handles claims of processes that died or are paused: other processes get their items, or the items fail. */
  async #leases(now: Date): Promise<number> {
    const expired = await this.#overdue();
    const woken = new Set<string>();
    let ended = 0;
    for (const item of expired) {
      if (isPoisonItem(item)) {
        this.#parts.metrics.noteExpiredLease('poison');
        const outcome = poisonItemOutcome(item, now);
        // An owner that was paused may just finish a segment, which must be paid. The next sweep bills it.
        const asRead = { 'progress.segment': item.progress?.segment ?? null };
        if (!(await this.#context.items.decide(item, outcome, asRead))) continue;
        ended += 1;
        await this.#recordStale([{ ...item, outcome }]);
        continue;
      }
      this.#parts.metrics.noteExpiredLease('again');
      if (await this.#context.items.giveBack(item, claimLossCounterOf(item))) ended += 1;
      woken.add(item.jobId);
    }
    for (const jobId of woken) {
      const job = await this.#context.jobs.get(jobId);
      if (job?.status === 'CANCELLING') await this.#parts.completion.completeIfOver(job);
      else this.#parts.signals.send('work', jobId);
    }
    return ended;
  }

  async #retries(): Promise<number> {
    const { promoted, jobIds } = await this.#context.items.promote(ITEMS_AT_A_TIME);
    for (const jobId of jobIds) this.#parts.signals.send('work', jobId);
    return promoted;
  }

  async #settlements(now: Date): Promise<number> {
    return this.#recordStale(
      await this.#context.items.decidedBefore(ago(now, RECORDING_MS), SWEEP_BATCH_SIZE),
    );
  }

  /** Starts jobs that wait although a slot is free, and wakes runners for running jobs whose items nobody claims. */
  async #admissions(): Promise<number> {
    for (const { accountId, type } of await this.#context.jobs.waitingGroups())
      await this.#parts.admission.startWaiting(accountId, type);
    return 0;
  }

  async #endings(now: Date): Promise<number> {
    let moved = 0;
    for (const job of await this.#context.jobs.perhapsComplete(SWEEP_BATCH_SIZE)) {
      const { phase } = await this.#parts.completion.completeIfOver(job);
      if (phase !== 'open') moved += 1;
    }
    const ended = await this.#context.jobs.inPhaseSince('ended', ago(now, RECORDING_MS), SWEEP_BATCH_SIZE);
    for (const job of ended) if (await this.#parts.completion.cleanUp(job)) moved += 1;
    return moved;
  }

  /** Removes outputs of claims that were lost together with their process. */
  async #outputs(now: Date): Promise<number> {
    const made = await this.#context.assets.outputs.leftOver(ago(now, WORKING_MS), SWEEP_BATCH_SIZE);
    let discarded = 0;
    for (const { _id, accountId, jobId, itemIndex } of made) {
      const [item] = await this.#context.items.findByIndexes(jobId ?? '', [itemIndex ?? 0]);
      const isItsOutcome =
        item?._id === itemId(jobId ?? '', itemIndex ?? 0) && item.outcome?.resultAssetId === _id;
      if (isItsOutcome) continue;
      await this.#context.assets.outputs.discard(accountId, _id);
      discarded += 1;
    }
    return discarded;
  }

  /** Removes an expired job with its results, in steps. */
  async #remove(job: JobDocument): Promise<void> {
    while ((await this.#context.assets.outputs.removeByJob(job.accountId, job._id, SWEEP_BATCH_SIZE)) > 0);
    await removeIntermediates(this.#context, job);
    while ((await this.#context.items.erase(job._id, ITEMS_AT_A_TIME)) > 0);
    await this.#context.definitions.erase(job._id);
    await this.#context.jobs.erase(job._id);
  }

  async #expired(now: Date): Promise<number> {
    const leaving = await this.#context.jobs.inPhaseSince('leaving', ago(now, REMOVING_MS), SWEEP_BATCH_SIZE);
    for (const job of leaving) await this.#remove(job);
    let removed = leaving.length;
    for (const { _id } of await this.#context.jobs.expired(now, 10)) {
      const leaving = await this.#context.jobs.move(_id, JOB_TRANSITIONS.expire);
      if (leaving === null) continue;
      await this.#remove(leaving);
      removed += 1;
    }
    return removed;
  }
}

function ago(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms);
}
