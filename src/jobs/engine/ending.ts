import type { JobPlaces } from '../../assets/job-places.ts';
import { chargeOf, type Holds } from '../../billing/holds.ts';
import type { Events } from '../../events/open.ts';
import { newId, randomText } from '../../names/ids.ts';
import type { ItemsStore } from '../items-store.ts';
import { isTerminal, type JobDocument, type OutcomeStatus } from '../job.ts';
import { errorMessageOf, isOver, verdictOf } from '../rules.ts';
import type { JobsStore } from '../store.ts';
import { jobEventOf, jobEventTypeOf } from './announcements.ts';
import type { JobSettlement } from './settlement.ts';

export interface EndingOptions {
  jobs: JobsStore;
  items: ItemsStore;
  settlement: JobSettlement;
  holds: Holds;
  places: JobPlaces;
  events: Events;
  deleteObject: (key: string) => Promise<void>;
  /** Tells everybody who waits for a job that it has ended. */
  announceEnd: (job: JobDocument) => void;
  /** Starts jobs that waited for the place of one that ended. */
  startWaiting: (accountId: string, type: JobDocument['type']) => Promise<void>;
  now: () => Date;
}

const OBJECTS_AT_A_TIME = 100;

/**
 * How a job ends, once. One conditional update gives it its final status, with what it is charged; from there on charge,
 * places and event follow from the document, each guarded by a key of its own, so that the sweep may repeat them.
 */
export function createEnding(options: EndingOptions) {
  const { jobs, items, settlement, holds, places, events, announceEnd, startWaiting, now } = options;
  const { deleteObject } = options;

  /** What items that a cancel stopped between two segments of a chain had used by then. */
  async function usedByCancelled({ _id, type, status }: JobDocument) {
    if (status !== 'CANCELLING' || type !== 'chain') return { runs: 0, credits: 0 };
    return items.usedByCancelled(_id);
  }

  async function errorOf(job: JobDocument): Promise<Partial<JobDocument>> {
    if (job.failedItems === 0) return {};
    const failure = await items.firstFailure(job._id);
    if (failure?.outcome?.errorCode === undefined) return {};
    const { errorCode, errorMessage: message = '', retryable = false } = failure.outcome;
    return {
      errorCode,
      retryable,
      errorMessage: errorMessageOf(job, { index: failure.index, message }),
    };
  }

  async function eventIdFor(job: JobDocument, status: OutcomeStatus): Promise<string | null> {
    const wanted = await events.isWanted(job.accountId, jobEventTypeOf(status));
    return wanted ? newId('evt', now().getTime()) : null;
  }

  /** The one update that ends a job. Null when it is not as it was read any more. */
  async function end(job: JobDocument): Promise<JobDocument | null> {
    const { status, completedItems, failedItems, hold } = job;
    const verdict = verdictOf(job);
    const [more, error, endEventId, cancelledItems] = await Promise.all([
      usedByCancelled(job),
      errorOf(job),
      eventIdFor(job, verdict),
      status === 'CANCELLING' ? items.count(job._id, 'CANCELLED') : 0,
    ]);
    const used = { runs: job.usedRuns + more.runs, credits: job.usedCredits + more.credits };
    const { credits, overage } = chargeOf(hold, used);
    const at = now().toISOString();
    return jobs.change(
      job._id,
      { phase: 'open', status, completedItems, failedItems },
      {
        $set: {
          ...error,
          status: verdict,
          cancelledItems,
          usedRuns: used.runs,
          usedCredits: used.credits,
          actualCredits: credits,
          chargedCredits: credits + overage,
          endEventId,
          completedAt: at,
          phase: 'ended',
          phaseAt: at,
        },
        $unset: { slot: '' },
      },
    );
  }

  async function returnPlaces(job: JobDocument): Promise<void> {
    const { _id, accountId } = job;
    const left = job.places - job.outputs;
    if (left === 0) return places.confirm(accountId, _id);
    const token = job.placesToken ?? randomText(12);
    if (job.placesToken === null) {
      await places.confirm(accountId, _id);
      await places.announce(accountId, _id, token, left);
    }
    // Of several who come this far at once, the first one's mark counts.
    await jobs.change(_id, { placesToken: null }, { $set: { placesToken: token } });
    const counting = (await jobs.get(_id))?.placesToken ?? token;
    await places.giveBack(accountId, _id, counting);
  }

  /** What segments made for the next ones is of no use to items that are finished. */
  async function deleteBetween(jobId: string): Promise<void> {
    for (;;) {
      const finished = await items.finishedWithObject(jobId, OBJECTS_AT_A_TIME);
      if (finished.length === 0) return;
      for (const { progress } of finished) await deleteObject(progress?.objectKey ?? '');
      await items.forgetObjects(finished.map(({ _id }) => _id));
    }
  }

  /** What follows from an ended job. Doing it twice is doing it once. */
  async function finish(job: JobDocument): Promise<void> {
    const { _id, accountId, hold, usedRuns, usedCredits, endEventId } = job;
    await holds.settle(accountId, _id, hold, { runs: usedRuns, credits: usedCredits });
    await Promise.all([
      job.places > 0 ? returnPlaces(job) : undefined,
      endEventId === null ? undefined : events.write([jobEventOf(job, endEventId)]),
      job.type === 'chain' ? deleteBetween(_id) : undefined,
    ]);
    await jobs.movePhase(_id, 'ended', 'done');
  }

  return {
    /**
     * Ends a job whose items have all settled; does nothing with any other.
     * @param isWrittenOut whether its last settlement is surely written out.
     */
    async endIfOver(job: JobDocument, isWrittenOut = false): Promise<JobDocument> {
      if (job.phase !== 'open' || isTerminal(job.status)) return job;
      if (job.status === 'CANCELLING') {
        await items.cancelWaiting(job._id);
        if (await items.hasOpen(job._id)) return job;
      } else if (!isOver(job)) return job;
      if (!isWrittenOut) await settlement.writeOut(job);
      const ended = await end(job);
      if (ended === null) return (await jobs.get(job._id)) ?? job;
      const finished = finish(ended).finally(() => announceEnd(ended));
      await Promise.all([finished, startWaiting(ended.accountId, ended.type)]);
      return ended;
    },

    finish,
  };
}

export type Ending = ReturnType<typeof createEnding>;
