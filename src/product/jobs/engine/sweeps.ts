import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { HOUR_MS } from '../../../platform/values/units.ts';
import { createIntermediatesRemoval } from '../intermediates.ts';
import { type Claimed, type ItemDocument, itemId, type JobDocument } from '../job.ts';
import { endOfLease, isPoison, poisoned } from '../rules.ts';
import { JOB } from '../transitions.ts';
import type { JobAdmission } from './admission.ts';
import type { Completion } from './completion.ts';
import type { EngineOptions } from './options.ts';
import type { Decided, Outcomes } from './outcomes.ts';

/** What follows a claim whose process died: the item is tried again, or given up. */
export type ExpiredLease = 'again' | 'poison';

export interface JobSweepsOptions extends Pick<EngineOptions, 'jobs' | 'items' | 'assets' | 'objects'> {
  outcomes: Outcomes;
  completion: Completion;
  admission: JobAdmission;
  /** Announces a job that has items to claim to every process. */
  announceWork: (jobId: string) => void;
  onExpiredLease: (followedBy: ExpiredLease) => void;
}

const INTERVAL_MS = 15_000;
/** Younger outcomes and jobs still belong to a live process. */
const RECORDING_MS = 10_000;
/** A live process has removed a job by then. */
const REMOVING_MS = 5 * 60_000;
/** Longer than the work on any item. */
const WORKING_MS = HOUR_MS;
/** Owners renew their claims within this time after an outage has ended. */
const RENEWING_MS = 12_000;
const SWEEP_BATCH_SIZE = 200;
const ITEMS_AT_A_TIME = 500;

/**
 * Sweeps for jobs and items that dead processes, lost messages and time leave behind. Each sweep may run in any
 * process, twice and at once, because every step has a condition that lets it take effect once. It answers how many
 * documents it changed, and not how many it read: what it cannot move is left for the next round.
 */
export function createJobSweeps(options: JobSweepsOptions): SweepTask[] {
  const { jobs, items, outcomes, completion, admission, assets, announceWork } = options;
  const removeIntermediates = createIntermediatesRemoval(options);

  /** @returns how many of the items are recorded: those of a job that is gone are not. */
  async function recordStale(stale: readonly ItemDocument[]): Promise<number> {
    const byJob = Map.groupBy(stale, ({ jobId }) => jobId);
    let recorded = 0;
    for (const [jobId, decided] of byJob) {
      const batch = decided.filter((item): item is ItemDocument & Decided => item.outcome !== undefined);
      const job = await outcomes.record(jobId, batch);
      if (job === null) continue;
      recorded += batch.length;
      await completion.completeIfOver(job);
    }
    return recorded;
  }

  let lookedMs = performance.now();
  let wasSilent = false;
  let sparesUntilMs = 0;

  /**
   * Claims whose lease has expired. After an outage of the documents, or a pause of this process itself, owners get
   * time to renew them: until then, only claims of processes that were seen to end are taken.
   */
  async function overdue(): Promise<Claimed[]> {
    const wasPaused = performance.now() - lookedMs > 2 * INTERVAL_MS;
    if (wasSilent || wasPaused) sparesUntilMs = performance.now() + RENEWING_MS;
    lookedMs = performance.now();
    wasSilent = true;
    const expired = await items.expiredLeases(SWEEP_BATCH_SIZE);
    wasSilent = false;
    if (performance.now() >= sparesUntilMs) return expired;
    return expired.filter((item) => endOfLease(item) === 'deaths');
  }

  /** Claims of processes that died or are paused: other processes get their items, or the items fail. */
  async function leases(now: Date): Promise<number> {
    const expired = await overdue();
    const woken = new Set<string>();
    let ended = 0;
    for (const item of expired) {
      if (isPoison(item)) {
        options.onExpiredLease('poison');
        const outcome = poisoned(item, now);
        // An owner that was paused may finish a segment just now, which has to be paid: the next sweep bills it.
        const asRead = { 'progress.segment': item.progress?.segment ?? null };
        if (!(await items.decide(item, outcome, asRead))) continue;
        ended += 1;
        await recordStale([{ ...item, outcome }]);
        continue;
      }
      options.onExpiredLease('again');
      if (await items.giveBack(item, endOfLease(item))) ended += 1;
      woken.add(item.jobId);
    }
    for (const jobId of woken) {
      const job = await jobs.get(jobId);
      if (job?.status === 'CANCELLING') await completion.completeIfOver(job);
      else announceWork(jobId);
    }
    return ended;
  }

  async function retries(): Promise<number> {
    const { promoted, jobIds } = await items.promote(ITEMS_AT_A_TIME);
    for (const jobId of jobIds) announceWork(jobId);
    return promoted;
  }

  async function settlements(now: Date): Promise<number> {
    return recordStale(await items.decidedBefore(ago(now, RECORDING_MS), SWEEP_BATCH_SIZE));
  }

  /** Jobs that wait although a slot is free, and running jobs whose items no process claims. */
  async function admissions(): Promise<number> {
    for (const { accountId, type } of await jobs.waitingGroups())
      await admission.startWaiting(accountId, type);
    return 0;
  }

  async function endings(now: Date): Promise<number> {
    let moved = 0;
    for (const job of await jobs.perhapsComplete(SWEEP_BATCH_SIZE)) {
      const { phase } = await completion.completeIfOver(job);
      if (phase !== 'open') moved += 1;
    }
    const ended = await jobs.inPhaseSince('ended', ago(now, RECORDING_MS), SWEEP_BATCH_SIZE);
    for (const job of ended) if (await completion.cleanUp(job)) moved += 1;
    return moved;
  }

  /** Outputs of claims that were lost together with their process. */
  async function outputs(now: Date): Promise<number> {
    const made = await assets.outputs.leftOver(ago(now, WORKING_MS), SWEEP_BATCH_SIZE);
    let discarded = 0;
    for (const { _id, accountId, jobId, itemIndex } of made) {
      const [item] = await items.some(jobId ?? '', [itemIndex ?? 0]);
      const isItsOutcome =
        item?._id === itemId(jobId ?? '', itemIndex ?? 0) && item.outcome?.resultAssetId === _id;
      if (isItsOutcome) continue;
      await assets.outputs.discard(accountId, _id);
      discarded += 1;
    }
    return discarded;
  }

  /** Removes, in steps, a job whose retention has ended, with its results. */
  async function remove(job: JobDocument): Promise<void> {
    while ((await assets.outputs.removeByJob(job.accountId, job._id, SWEEP_BATCH_SIZE)) > 0);
    await removeIntermediates(job);
    while ((await items.erase(job._id, ITEMS_AT_A_TIME)) > 0);
    await jobs.erase(job._id);
  }

  async function expired(now: Date): Promise<number> {
    const leaving = await jobs.inPhaseSince('leaving', ago(now, REMOVING_MS), SWEEP_BATCH_SIZE);
    for (const job of leaving) await remove(job);
    let removed = leaving.length;
    for (const { _id } of await jobs.expired(now, 10)) {
      const leaving = await jobs.move(_id, JOB.expire);
      if (leaving === null) continue;
      await remove(leaving);
      removed += 1;
    }
    return removed;
  }

  return [
    { name: 'leases of items', sweep: leases, intervalMs: INTERVAL_MS },
    { name: 'retries of items', sweep: retries, intervalMs: INTERVAL_MS },
    { name: 'settlements of items', sweep: settlements, intervalMs: INTERVAL_MS },
    { name: 'waiting jobs', sweep: admissions, intervalMs: INTERVAL_MS },
    { name: 'ended jobs', sweep: endings, intervalMs: INTERVAL_MS },
    { name: 'outputs without an item', sweep: outputs, intervalMs: INTERVAL_MS },
    { name: 'expired jobs', sweep: expired, intervalMs: INTERVAL_MS },
  ];
}

function ago(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms);
}
