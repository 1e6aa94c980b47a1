import type { Events } from '../../events/open.ts';
import { newId, randomText } from '../../names/ids.ts';
import type { ItemsStore } from '../items-store.ts';
import type { ItemDocument, JobDocument, Outcome, OutcomeStatus, SettledItem, Settlement } from '../job.ts';
import { tallyOf } from '../rules.ts';
import type { JobsStore } from '../store.ts';
import { itemEventsOf, itemEventTypeOf } from './announcements.ts';
import type { Verdicts } from './verdicts.ts';

export interface SettlementOptions {
  jobs: JobsStore;
  items: ItemsStore;
  events: Events;
  verdicts: Verdicts;
  /** Shows the assets that items were settled with. */
  showOutputs: (accountId: string, assetIds: readonly string[], collection: string | null) => Promise<void>;
  now: () => Date;
}

/** An item whose outcome is decided, in its own document already. */
export type Decided = Pick<ItemDocument, '_id' | 'index'> & { outcome: Outcome } & Partial<ItemDocument>;

const MOST_ROUNDS = 200;

/**
 * How decided outcomes take effect, once each. The job document carries its last settlement whole, so that one
 * conditional update counts a batch of outcomes:
 *
 *   1. an outcome is decided in its item's document, by the owner of the claim      (runner.ts)
 *   2. the assets of the batch are shown
 *   3. the job counts the batch, while its settlement is still the one that was read   <- the settlement
 *   4. what follows is written out: events, and the final status of the items
 *
 * The batch that completes a job ends it in the same update; step 4 is then the first of what follows from the end (ending.ts).
 *
 * A crash before 3 leaves items that are decided and not counted: the sweep settles them. A crash after it leaves a
 * settlement that is not written out: the next settlement does that before anything else, or the sweep does.
 */
export function createSettlement({ jobs, items, events, verdicts, showOutputs, now }: SettlementOptions) {
  async function eventsWanted(accountId: string): Promise<Record<OutcomeStatus, boolean>> {
    const [completed, failed] = await Promise.all([
      events.isWanted(accountId, 'job.item.completed'),
      events.isWanted(accountId, 'job.item.failed'),
    ]);
    return { COMPLETED: completed, FAILED: failed, CANCELLED: false };
  }

  async function settlementOf(job: JobDocument, batch: readonly Decided[]): Promise<Settlement> {
    const wanted = await eventsWanted(job.accountId);
    const settled = batch.map(({ index, outcome: { status } }): SettledItem => {
      const type = itemEventTypeOf(status);
      if (type === null || !wanted[status]) return { index, status };
      return { index, status, event: { id: newId('evt', now().getTime()), type } };
    });
    return { id: randomText(16), before: job.settledItems, at: now().toISOString(), items: settled };
  }

  /** Writes out what follows from a settlement. Doing it twice is doing it once. */
  async function writeOut(job: JobDocument, known: readonly Decided[] = []): Promise<void> {
    const { settlement } = job;
    if (settlement === null) return;
    const told = settlement.items.filter(({ event }) => event !== undefined);
    if (told.length > 0) {
      const documents =
        known.length > 0
          ? known
          : await items.some(
              job._id,
              told.map(({ index }) => index),
            );
      await events.write(itemEventsOf(job, settlement, documents));
    }
    await finishItems(job);
  }

  /** Gives the items of the last settlement their final status. Doing it twice is doing it once. */
  async function finishItems({ _id, settlement }: JobDocument): Promise<void> {
    const idsOf = (status: OutcomeStatus) =>
      settlement?.items.filter((item) => item.status === status).map(({ index }) => `${_id}/${index}`) ?? [];
    await Promise.all(
      (['COMPLETED', 'FAILED', 'CANCELLED'] as const).map((status) => items.finish(idsOf(status), status)),
    );
  }

  async function count(job: JobDocument, batch: readonly Decided[]): Promise<JobDocument | null> {
    const tally = tallyOf(batch.map(({ outcome }) => outcome));
    const [settlement, end] = await Promise.all([
      settlementOf(job, batch),
      verdicts.completionOf(job, tally),
    ]);
    return jobs.change(
      job._id,
      { 'settlement.id': job.settlement?.id ?? null, ...end?.asItIs },
      { $set: { settlement, ...end?.set }, $inc: { ...tally }, ...(end && { $unset: end.unset }) },
    );
  }

  /** The job as it is now with its settlement written out, and those of the batch that nobody has counted. */
  async function look(jobId: string, batch: readonly Decided[], onLook: () => void) {
    const job = await jobs.get(jobId);
    onLook();
    if (job === null) return null;
    await writeOut(job);
    const uncounted = await items.uncountedAmong(batch.map(({ _id }) => _id));
    return { job, rest: batch.filter(({ _id }) => uncounted.has(_id)) };
  }

  return {
    /**
     * Counts decided outcomes of one job, and writes out what follows; a job that they complete has ended then, and what
     * follows is left to its end.
     * @param seen the job as it was read before the outcomes were decided, its settlement written out: then nobody else
     *   can have counted them without changing it. Null to look first.
     * @param onLook called whenever the job was read again: outcomes that are decided from then on need no second look.
     * @returns the job behind it; null when it is gone.
     */
    async settle(
      jobId: string,
      batch: readonly Decided[],
      seen: JobDocument | null = null,
      onLook: () => void = () => undefined,
    ): Promise<JobDocument | null> {
      let state = seen === null ? await look(jobId, batch, onLook) : { job: seen, rest: [...batch] };
      for (let round = 0; round < MOST_ROUNDS && state !== null; round += 1) {
        const { job, rest } = state;
        if (rest.length === 0) return job;
        const made = rest.flatMap(({ outcome }) => outcome.resultAssetId ?? []);
        await showOutputs(job.accountId, made, job.collection);
        const counted = await count(job, rest);
        if (counted !== null) {
          if (counted.phase !== 'ended') await writeOut(counted, rest);
          return counted;
        }
        state = await look(jobId, batch, onLook);
      }
      if (state === null) return null;
      throw new Error(`The settlement of ${jobId} was overtaken ${MOST_ROUNDS} times.`);
    },

    writeOut,
    finishItems,
  };
}

export type JobSettlement = ReturnType<typeof createSettlement>;
