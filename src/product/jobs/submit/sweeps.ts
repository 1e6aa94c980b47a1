import { HOUR_MS } from '../../../platform/names/units.ts';
import type { SweepTask } from '../../../platform/sweeping/sweeper.ts';
import type { JobQuota } from '../../assets/quota/job-quota.ts';
import { isUndone } from '../rules.ts';
import type { JobsStore } from '../store.ts';
import type { Undoing } from './undoing.ts';

const INTERVAL_MS = 15_000;
/** The process of an older submit has died. */
const SUBMITTING_MS = 5 * 60_000;
/** Longer than the work on any item. */
const WORKING_MS = HOUR_MS;
const MOST_AT_A_TIME = 200;

/** Undoes submits of dead processes: hidden jobs, and their reservations in the quota of the account. */
export function createSubmitSweeps({
  jobs,
  quota,
  undoing,
}: {
  jobs: JobsStore;
  quota: JobQuota;
  undoing: Undoing;
}): SweepTask[] {
  async function submits(now: Date): Promise<number> {
    const before = new Date(now.getTime() - SUBMITTING_MS);
    const hidden = await jobs.standing('hidden', before, MOST_AT_A_TIME);
    for (const job of hidden) await undoing.undo(job);
    const leaving = (await jobs.standing('leaving', before, MOST_AT_A_TIME)).filter(isUndone);
    for (const job of leaving) await undoing.finish(job);
    for (const { accountId, jobId } of await quota.leftOver(new Date(now.getTime() - WORKING_MS))) {
      const job = await jobs.get(jobId);
      if (job === null) await quota.undo(accountId, jobId);
      else if (job.phase === 'done') await quota.withdraw(accountId, jobId);
    }
    return hidden.length + leaving.length;
  }

  return [{ name: 'unfinished submits', sweep: submits, intervalMs: INTERVAL_MS }];
}
