import { setImmediate as nextTurn } from 'node:timers/promises';
import { randomText } from '../../../platform/ids/ids.ts';
import type { EndedJob, JobDocument, UnfinishedJob } from '../job.ts';
import { isOver } from '../rules.ts';
import { JOB } from '../transitions.ts';
import type { JobAdmission } from './admission.ts';
import { jobEventOf } from './announcements.ts';
import type { CompletionUpdates } from './completion-update.ts';
import type { EngineOptions } from './options.ts';
import type { Outcomes } from './outcomes.ts';
import type { Signals } from './signals.ts';

interface CompletionOptions
  extends Pick<EngineOptions, 'jobs' | 'items' | 'objects' | 'assets' | 'holds' | 'events' | 'onEnd'> {
  outcomes: Outcomes;
  updates: CompletionUpdates;
  admission: JobAdmission;
  signals: Signals;
}

const OBJECTS_AT_A_TIME = 100;

/**
 * Completes jobs, each once. One conditional update gives a job its final status and its charge: the one that records
 * its last outcomes where all of them succeeded (outcomes.ts), else one of its own. The clean-up follows from the
 * document alone: charge, quota, then the event. Each of its steps is guarded by a key of its own, so that the sweep
 * may repeat them.
 */
export interface Completion {
  /** Completes a job whose items have all ended, and cleans up; answers any other job as it is. */
  completeIfOver(job: JobDocument): Promise<JobDocument>;
  /** The same for a job whose last outcomes were just recorded and published. */
  completeRecorded(job: JobDocument): Promise<JobDocument>;
  /**
   * Cleans up after a job that has ended. Doing it twice is doing it once.
   * @returns false when another process has done it.
   */
  cleanUp(job: EndedJob): Promise<boolean>;
}

export function createCompletion(options: CompletionOptions): Completion {
  const { jobs, items, objects, holds, events, outcomes, updates, admission, signals, onEnd } = options;
  const { quota } = options.assets;
  /** Clean-ups of this process, by job. */
  const underWay = new Map<string, Promise<boolean>>();

  /** The one update that completes a job. Null when the job is no longer as it was read. */
  async function complete(job: UnfinishedJob): Promise<JobDocument | null> {
    const { completedItems, failedItems } = job;
    const { transition, set } = await updates.of(job);
    return jobs.move(job._id, transition, { asRead: { completedItems, failedItems }, $set: set });
  }

  /** Releases the storage that was reserved for outputs which were not made. */
  async function returnQuota(job: EndedJob): Promise<void> {
    const { _id, accountId } = job;
    const unused = job.reservedAssets - job.outputs;
    if (unused === 0) return;
    const token = job.releaseToken ?? randomText(12);
    if (job.releaseToken === undefined) {
      await quota.confirm(accountId, _id);
      await quota.announce(accountId, _id, token, unused);
    }
    await quota.giveBack(accountId, _id, await jobs.keepReleaseToken(_id, token));
  }

  /** Deletes the intermediates of items that are finished: no segment needs them any more. */
  async function deleteIntermediates(jobId: string): Promise<void> {
    for (;;) {
      const finished = await items.finishedWithObject(jobId, OBJECTS_AT_A_TIME);
      if (finished.length === 0) return;
      await Promise.all(finished.map(({ progress }) => objects.delete(progress?.objectKey ?? '')));
      await items.forgetObjects(finished.map(({ _id }) => _id));
    }
  }

  /** The part of the clean-up that is done before a client sees the end. */
  async function charge(job: EndedJob): Promise<void> {
    const { _id, accountId, hold, usedRuns, usedCredits } = job;
    await Promise.all([
      holds.charge(accountId, _id, hold, { runs: usedRuns, credits: usedCredits }),
      returnQuota(job),
    ]);
  }

  /**
   * The part of the clean-up that no answer depends on. The event of the end comes last.
   * @returns false when another process has done it.
   */
  async function tidy(job: EndedJob): Promise<boolean> {
    await Promise.all([
      outcomes.publish(job),
      job.type === 'chain' ? deleteIntermediates(job._id) : undefined,
    ]);
    if (job.endEventId !== null) await events.write([jobEventOf(job, job.endEventId)]);
    return (await jobs.move(job._id, JOB.cleanUp)) !== null;
  }

  /** Runs a clean-up, or joins the one that is under way in this process. */
  function once(job: EndedJob, steps: () => Promise<boolean>): Promise<boolean> {
    const known = underWay.get(job._id);
    if (known !== undefined) return known;
    const cleaning = steps().finally(() => underWay.delete(job._id));
    underWay.set(job._id, cleaning);
    return cleaning;
  }

  function cleanUp(job: EndedJob): Promise<boolean> {
    return once(job, async () => {
      await charge(job);
      return tidy(job);
    });
  }

  /** The clean-up of a job that has just ended. Calls that wait for it here are answered between its two parts. */
  function cleanUpAndNotify(job: EndedJob): Promise<boolean> {
    return once(job, async () => {
      try {
        await charge(job);
        onEnd(job._id, job);
        await nextTurn();
        return await tidy(job);
      } finally {
        signals.end(job._id);
      }
    });
  }

  async function followUp(ended: EndedJob): Promise<JobDocument> {
    await Promise.all([cleanUpAndNotify(ended), admission.startWaiting(ended.accountId, ended.type)]);
    return ended;
  }

  /** Whether all items of an open job have ended. In a job that is being cancelled, unclaimed items end here. */
  async function isDue(job: UnfinishedJob): Promise<boolean> {
    if (job.status !== 'CANCELLING') return isOver(job);
    await items.cancelWaiting(job._id);
    return !(await items.hasOpen(job._id));
  }

  async function completeAfter(job: JobDocument, publish: () => Promise<void>): Promise<JobDocument> {
    if (job.phase === 'ended') return followUp(job);
    if (job.phase !== 'open' || !(await isDue(job))) return job;
    await publish();
    const ended = await complete(job);
    if (ended?.phase === 'ended') return followUp(ended);
    const other = (await jobs.get(job._id)) ?? job;
    if (other.phase === 'ended') await cleanUp(other);
    return other;
  }

  return {
    completeIfOver: (job) => completeAfter(job, () => outcomes.publish(job)),
    completeRecorded: (job) => completeAfter(job, async () => undefined),
    cleanUp,
  };
}
