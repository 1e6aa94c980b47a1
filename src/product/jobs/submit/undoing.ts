import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { HOUR_MS } from '../../../platform/values/units.ts';
import type { JobQuota } from '../../assets/job-quota.ts';
import type { EngineOptions } from '../engine/options.ts';
import type { JobDocument } from '../job.ts';
import { JOB } from '../transitions.ts';

const INTERVAL_MS = 15_000;
/** The process of an older submit has died. */
const SUBMITTING_MS = 5 * 60_000;
/** Longer than the work on any item. */
const WORKING_MS = HOUR_MS;
const SWEEP_BATCH_SIZE = 200;
const ITEMS_A_CALL = 500;

interface UndoingOptions extends Pick<EngineOptions, 'jobs' | 'items' | 'holds'> {
  quota: JobQuota;
}

/**
 * Undoes an unfinished submit, whose job was never shown. The hidden document is claimed first, so that a slow submit
 * can no longer show it, and deleted last, so that after a crash it is undone again.
 */
export interface Undoing {
  /** Undoes a hidden job; false when it was shown, and is left alone. */
  undo(job: JobDocument): Promise<boolean>;
  /** Removes the remains of a submit, once its job is `undone`. */
  finish(job: Pick<JobDocument, '_id' | 'accountId'>): Promise<void>;
  /** Undoes submits of dead processes: hidden jobs, and their reservations in the quota of the account. */
  sweep: SweepTask;
}

export function createUndoing({ jobs, items, holds, quota }: UndoingOptions): Undoing {
  async function finish({ _id, accountId }: Pick<JobDocument, '_id' | 'accountId'>): Promise<void> {
    await holds.undo(accountId, _id);
    await quota.undo(accountId, _id);
    while ((await items.erase(_id, ITEMS_A_CALL)) > 0);
    await jobs.erase(_id);
  }

  async function undo(job: JobDocument): Promise<boolean> {
    const claimed = await jobs.move(job._id, JOB.undo);
    const isOurs = claimed !== null || (await jobs.get(job._id)) === null;
    if (isOurs) await finish(job);
    return isOurs;
  }

  async function submits(now: Date): Promise<number> {
    const before = new Date(now.getTime() - SUBMITTING_MS);
    const hidden = await jobs.inPhaseSince('hidden', before, SWEEP_BATCH_SIZE);
    let undone = 0;
    for (const job of hidden) if (await undo(job)) undone += 1;
    const left = await jobs.inPhaseSince('undone', before, SWEEP_BATCH_SIZE);
    for (const job of left) await finish(job);
    for (const { accountId, jobId } of await quota.leftOver(new Date(now.getTime() - WORKING_MS))) {
      const job = await jobs.get(jobId);
      if (job === null) await quota.undo(accountId, jobId);
      else if (job.phase === 'done') await quota.withdraw(accountId, jobId);
    }
    return undone + left.length;
  }

  return {
    undo,
    finish,
    sweep: { name: 'unfinished submits', sweep: submits, intervalMs: INTERVAL_MS },
  };
}
