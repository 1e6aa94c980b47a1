import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JobQuota } from '../../assets/quota/job-quota.ts';
import type { Holds } from '../../billing/holds.ts';
import type { Events } from '../../events/open.ts';
import { randomText } from '../../names/ids.ts';
import type { ItemsStore } from '../items-store.ts';
import { isTerminal, type JobDocument } from '../job.ts';
import { isOver } from '../rules.ts';
import type { JobsStore } from '../store.ts';
import { jobEventOf } from './announcements.ts';
import type { JobSettlement } from './settlement.ts';
import type { Verdicts } from './verdicts.ts';

export interface EndingOptions {
  jobs: JobsStore;
  items: ItemsStore;
  settlement: JobSettlement;
  verdicts: Verdicts;
  holds: Holds;
  quota: JobQuota;
  events: Events;
  deleteObject: (key: string) => Promise<void>;
  /** Tells those who wait for a job in this process that it has ended, and how. */
  tellHere: (job: JobDocument) => void;
  /** Tells all processes that it has ended. */
  tellOthers: (job: JobDocument) => void;
  /** Starts jobs that waited for the place of one that ended. */
  startWaiting: (accountId: string, type: JobDocument['type']) => Promise<void>;
}

const OBJECTS_AT_A_TIME = 100;

/**
 * How a job ends, once. One conditional update gives it its final status, with what it is charged: the one that counts its
 * last outcomes where all were completed (settlement.ts), else one of its own. From there on charge, places and event follow from the document, each guarded by a key of its own, so that the sweep may repeat them.
 */
export function createEnding(options: EndingOptions) {
  const { jobs, items, settlement, verdicts, holds, quota, events } = options;
  const { deleteObject, tellHere, tellOthers, startWaiting } = options;

  /** The one update that ends a job. Null when it is not as it was read any more. */
  async function end(job: JobDocument): Promise<JobDocument | null> {
    const { completedItems, failedItems } = job;
    const { asItIs, set, unset } = await verdicts.endOf(job);
    return jobs.change(job._id, { ...asItIs, completedItems, failedItems }, { $set: set, $unset: unset });
  }

  /** Gives back the places that outputs left empty. */
  async function returnQuota(job: JobDocument): Promise<void> {
    const { _id, accountId } = job;
    const left = job.places - job.outputs;
    if (left === 0) return;
    const token = job.placesToken ?? randomText(12);
    if (job.placesToken === null) {
      await quota.confirm(accountId, _id);
      await quota.announce(accountId, _id, token, left);
    }
    // Of several who come this far at once, the first one's mark counts.
    await jobs.change(_id, { placesToken: null }, { $set: { placesToken: token } });
    const counting = (await jobs.get(_id))?.placesToken ?? token;
    await quota.giveBack(accountId, _id, counting);
  }

  /** What segments made for the next ones is of no use to items that are finished. */
  async function deleteIntermediates(jobId: string): Promise<void> {
    for (;;) {
      const finished = await items.finishedWithObject(jobId, OBJECTS_AT_A_TIME);
      if (finished.length === 0) return;
      await Promise.all(finished.map(({ progress }) => deleteObject(progress?.objectKey ?? '')));
      await items.forgetObjects(finished.map(({ _id }) => _id));
    }
  }

  async function announce(job: JobDocument): Promise<void> {
    if (job.endEventId !== null) await events.write([jobEventOf(job, job.endEventId)]);
  }

  /** What a client finds settled when it hears of the end. */
  async function settleUp(job: JobDocument): Promise<void> {
    const { _id, accountId, hold, usedRuns, usedCredits } = job;
    await Promise.all([
      holds.settle(accountId, _id, hold, { runs: usedRuns, credits: usedCredits }),
      returnQuota(job),
    ]);
  }

  /** What no answer depends on: items of the last settlement are shown by it already. The event of the end is last. */
  async function tidyUp(job: JobDocument): Promise<void> {
    await Promise.all([
      settlement.writeOut(job),
      job.type === 'chain' ? deleteIntermediates(job._id) : undefined,
    ]);
    await announce(job);
    await jobs.movePhase(job._id, 'ended', 'done');
  }

  const underWay = new Map<string, Promise<void>>();

  /** Runs what follows from an end, or joins where that runs in this process already. */
  function once(job: JobDocument, follow: (job: JobDocument) => Promise<void>): Promise<void> {
    const known = underWay.get(job._id);
    if (known !== undefined) return known;
    const following = follow(job).finally(() => underWay.delete(job._id));
    underWay.set(job._id, following);
    return following;
  }

  /** What follows from an ended job. Doing it twice is doing it once. */
  function finish(job: JobDocument): Promise<void> {
    return once(job, async () => {
      await settleUp(job);
      await tidyUp(job);
    });
  }

  /** The same, where the job has just ended: who waits for it here is told as soon as that is true, and reads its items first. */
  function conclude(job: JobDocument): Promise<void> {
    return once(job, async () => {
      try {
        await settleUp(job);
        tellHere(job);
        await nextTurn();
        await tidyUp(job);
      } finally {
        tellOthers(job);
      }
    });
  }

  return {
    /**
     * Ends a job whose items have all settled, and sees to what follows where that was just done; does nothing with any other.
     * @param isWrittenOut whether its last settlement is surely written out.
     */
    async endIfOver(job: JobDocument, isWrittenOut = false): Promise<JobDocument> {
      let ended: JobDocument | null = job;
      if (job.phase !== 'ended') {
        if (job.phase !== 'open' || isTerminal(job.status)) return job;
        if (job.status === 'CANCELLING') {
          await items.cancelWaiting(job._id);
          if (await items.hasOpen(job._id)) return job;
        } else if (!isOver(job)) return job;
        if (!isWrittenOut) await settlement.writeOut(job);
        ended = await end(job);
      }
      if (ended === null) {
        const other = (await jobs.get(job._id)) ?? job;
        if (other.phase === 'ended') await finish(other);
        return other;
      }
      await Promise.all([conclude(ended), startWaiting(ended.accountId, ended.type)]);
      return ended;
    },

    finish,
  };
}

export type Ending = ReturnType<typeof createEnding>;
