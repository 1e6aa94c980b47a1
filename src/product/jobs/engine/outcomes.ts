import { newId, randomText } from '../../../platform/ids/ids.ts';
import type { ItemDocument, JobDocument, Outcome, OutcomeStatus, SettledItem, Settlement } from '../job.ts';
import { tallyOf } from '../rules.ts';
import { itemEventsOf, itemEventTypeOf } from './announcements.ts';
import type { CompletionUpdates } from './completion-update.ts';
import type { EngineOptions } from './options.ts';

interface OutcomesOptions extends Pick<EngineOptions, 'jobs' | 'items' | 'assets' | 'events' | 'now'> {
  updates: CompletionUpdates;
}

/** An item whose outcome is decided, in its own document already. */
export type Decided = Pick<ItemDocument, '_id' | 'index'> & { outcome: Outcome } & Partial<ItemDocument>;

/** The view that a process has of a job whose outcomes it records. */
export interface JobView {
  /**
   * The job after the last recording, its settlement published, as long as nobody else is known to have recorded since.
   */
  job: JobDocument | null;
  /**
   * How often the job was read again: an outcome that was decided before the last reading may be counted in it already.
   */
  readings: number;
}

/** Another process recorded first: the job is read again, and the rest is recorded. */
const MAX_ROUNDS = 200;

/**
 * Records the outcomes of items in their job, each once. The job document carries its last settlement whole, so that
 * one conditional update counts a batch of outcomes:
 *
 *   1. an outcome is decided in its item's document, by the owner of the claim      (outcome-batcher.ts)
 *   2. the assets of the batch are shown
 *   3. the job counts the batch, while its settlement is still the one that was read   <- the recording
 *   4. the settlement is published: events, and the final status of the items
 *
 * The batch that completes a job ends it in the same update; step 4 is then the first of the clean-up (completion.ts).
 *
 * A crash before 3 leaves items that are decided and not counted: the sweep records them. A crash after it leaves a
 * settlement that is not published: the next recording publishes it before anything else, or the sweep does.
 */
export interface Outcomes {
  /**
   * Records decided outcomes of one job and publishes them. A job that they complete has ended then, and publishing is
   * left to its clean-up.
   * @param view is brought up to date; without a job in it, the job is read first.
   * @returns the job behind it; null when it is gone.
   */
  record(jobId: string, batch: readonly Decided[], view?: JobView): Promise<JobDocument | null>;
  /** Publishes the last settlement of a job. Doing it twice is doing it once. */
  publish(job: JobDocument): Promise<void>;
  /** Gives the items of the last settlement their final status. Doing it twice is doing it once. */
  finalizeItems(job: JobDocument): Promise<void>;
}

export function createOutcomes({ jobs, items, assets, events, updates, now }: OutcomesOptions): Outcomes {
  async function readSettlement(job: JobDocument, batch: readonly Decided[]): Promise<Settlement> {
    const [completed, failed] = await Promise.all([
      events.isWanted(job.accountId, 'job.item.completed'),
      events.isWanted(job.accountId, 'job.item.failed'),
    ]);
    const subscribed = { COMPLETED: completed, FAILED: failed, CANCELLED: false };
    const settled = batch.map(({ index, outcome: { status } }): SettledItem => {
      const type = itemEventTypeOf(status);
      if (type === null || !subscribed[status]) return { index, status };
      return { index, status, event: { id: newId('evt', now().getTime()), type } };
    });
    return { id: randomText(16), before: job.settledItems, at: now().toISOString(), items: settled };
  }

  async function publishEvents(job: JobDocument, known: readonly Decided[]): Promise<void> {
    const { settlement } = job;
    const announced = settlement?.items.filter(({ event }) => event !== undefined) ?? [];
    if (settlement === null || announced.length === 0) return;
    const indexes = announced.map(({ index }) => index);
    const documents = known.length > 0 ? known : await items.some(job._id, indexes);
    await events.write(itemEventsOf(job, settlement, documents));
  }

  async function finalizeItems({ _id, settlement }: JobDocument): Promise<void> {
    const idsOf = (status: OutcomeStatus) =>
      settlement?.items.filter((item) => item.status === status).map(({ index }) => `${_id}/${index}`) ?? [];
    await Promise.all(
      (['COMPLETED', 'FAILED', 'CANCELLED'] as const).map((status) => items.finalize(idsOf(status), status)),
    );
  }

  /** @param known the items of the settlement, where they were read already. */
  async function publish(job: JobDocument, known: readonly Decided[] = []): Promise<void> {
    await publishEvents(job, known);
    await finalizeItems(job);
  }

  /**
   * The one update that counts a batch, and ends the job where it completes it. Null when another process was first.
   */
  async function count(job: JobDocument, batch: readonly Decided[]): Promise<JobDocument | null> {
    const tally = tallyOf(batch.map(({ outcome }) => outcome));
    const [settlement, end] = await Promise.all([
      readSettlement(job, batch),
      updates.ofRecording(job, tally),
    ]);
    const asRead = { 'settlement.id': job.settlement?.id ?? null };
    const counted = { $set: { settlement, ...end?.set }, $inc: { ...tally } };
    if (end === null) return jobs.update(job._id, asRead, counted);
    return jobs.move(job._id, end.transition, { asRead, ...counted });
  }

  /** Reads the job, publishes its settlement, and returns the part of the batch that is not counted yet. */
  async function uncounted(jobId: string, batch: readonly Decided[], view: JobView) {
    view.job = await jobs.get(jobId);
    view.readings += 1;
    if (view.job === null) return [];
    await publish(view.job);
    const ids = await items.uncountedAmong(batch.map(({ _id }) => _id));
    return batch.filter(({ _id }) => ids.has(_id));
  }

  return {
    async record(jobId, batch, view = { job: null, readings: 0 }) {
      let rest = view.job === null ? await uncounted(jobId, batch, view) : batch;
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const { job } = view;
        if (job === null || rest.length === 0) return job;
        const made = rest.flatMap(({ outcome }) => outcome.resultAssetId ?? []);
        await assets.outputs.show(job.accountId, made, job.collection);
        const counted = await count(job, rest);
        if (counted !== null) {
          if (counted.phase !== 'ended') await publish(counted, rest);
          view.job = counted;
          return counted;
        }
        rest = await uncounted(jobId, batch, view);
      }
      throw new Error(`The outcomes of ${jobId} were overtaken ${MAX_ROUNDS} times.`);
    },

    publish,
    finalizeItems,
  };
}
