import { newId, randomText } from '../../../platform/ids/ids.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { OutboxEvent } from '../../events/event.ts';
import type { JobsContext } from '../context.ts';
import {
  type ItemDocument,
  type ItemOutcome,
  itemId,
  type JobDocument,
  type SettledBatch,
  type SettledItem,
} from '../job.ts';
import { sumOutcomes } from '../rules.ts';
import { prepareEndWithOutcomes } from './job-end.ts';

/** An item whose outcome is already stored in its own document. */
export type DecidedItem = Pick<ItemDocument, '_id' | 'index'> & {
  outcome: ItemOutcome;
} & Partial<ItemDocument>;

/** The job whose outcomes a process records, as the process last saw it. */
export interface RecordedJobView {
  /**
   * The job after the last recording, with its outcomes published. Null when another process may have recorded outcomes
   * since.
   */
  job: JobDocument | null;
  /**
   * How often the job was read. If an outcome was decided before the last read, the job may already have counted it.
   */
  readCount: number;
}

/**
 * The maximum number of attempts to record a batch. When another process has recorded first, the next attempt reads the
 * job again and records the rest of the batch.
 */
const MAX_RECORDING_ATTEMPTS = 200;

/**
 * Records the outcomes of items in their job, each once. A batch of outcomes that the job has counted is called a
 * settlement. The job document contains its last settlement as a whole, so that one conditional update counts a batch:
 *
 *   1. an outcome is decided in the document of its item, by the owner of the claim   (outcome-batcher.ts)
 *   2. the assets of the batch are made visible
 *   3. the job counts the batch, on the condition that its settlement is still the same   <- the recording
 *   4. the settlement is published: its events, and the final status of its items
 *
 * If the batch completes the job, step 3 also ends the job, and step 4 is the beginning of the clean-up
 * (completion.ts).
 *
 * A crash before step 3 leaves items that are decided and not counted; the sweep records them. A crash after it leaves
 * a settlement that is not published; the next recording publishes it before anything else, or else the sweep does.
 */
export class OutcomeRecorder {
  readonly #context: JobsContext;

  constructor(context: JobsContext) {
    this.#context = context;
  }

  /**
   * Records decided outcomes of one job and publishes them. If the outcomes complete the job, its clean-up publishes
   * them.
   * @param view is updated. If it contains no job, the job is read first.
   * @returns the job afterwards; null when it no longer exists.
   */
  async record(
    jobId: string,
    batch: readonly DecidedItem[],
    view: RecordedJobView = { job: null, readCount: 0 },
  ): Promise<JobDocument | null> {
    let rest = view.job === null ? await this.#readUncounted(jobId, batch, view) : batch;
    for (let round = 0; round < MAX_RECORDING_ATTEMPTS; round += 1) {
      const { job } = view;
      if (job === null || rest.length === 0) return job;
      const resultAssetIds = rest.flatMap(({ outcome }) => outcome.resultAssetId ?? []);
      await this.#context.assets.outputs.show(job.accountId, resultAssetIds, job.collection);
      const counted = await this.#recordBatch(job, rest);
      if (counted !== null) {
        if (counted.phase !== 'ended') await this.publish(counted, rest);
        view.job = counted;
        return counted;
      }
      rest = await this.#readUncounted(jobId, batch, view);
    }
    throw new Error(`The outcomes of ${jobId} were overtaken ${MAX_RECORDING_ATTEMPTS} times.`);
  }

  /**
   * Counts a batch in one update, and ends the job if the batch completes it. Null when another process has recorded
   * first.
   */
  async #recordBatch(job: JobDocument, batch: readonly DecidedItem[]): Promise<JobDocument | null> {
    const sums = sumOutcomes(batch.map(({ outcome }) => outcome));
    const [settlement, end] = await Promise.all([
      this.#prepareSettlement(job, batch),
      prepareEndWithOutcomes(this.#context, job, sums),
    ]);
    const asRead = { 'settlement.id': job.settlement?.id ?? null };
    const counted = { $set: { settlement, ...end?.set }, $inc: { ...sums } };
    if (end === null) return this.#context.jobs.update(job._id, asRead, counted);
    return this.#context.jobs.move(job._id, end.transition, { asRead, ...counted });
  }

  /** Reads the job, publishes its settlement, and returns the part of the batch that is not yet counted. */
  async #readUncounted(jobId: string, batch: readonly DecidedItem[], view: RecordedJobView) {
    view.job = await this.#context.jobs.get(jobId);
    view.readCount += 1;
    if (view.job === null) return [];
    await this.publish(view.job);
    const ids = await this.#context.items.findUncounted(batch.map(({ _id }) => _id));
    return batch.filter(({ _id }) => ids.has(_id));
  }

  /**
   * Publishes the last settlement of a job. A repetition has no further effect.
   * @param knownItems items of the settlement that the caller has already read.
   */
  async publish(job: JobDocument, knownItems: readonly DecidedItem[] = []): Promise<void> {
    await this.#publishEvents(job, knownItems);
    await this.finalizeItems(job);
  }

  /** Gives the items of the last settlement their final status. A repetition has no further effect. */
  async finalizeItems({ _id, settlement }: JobDocument): Promise<void> {
    const byStatus = Map.groupBy(settlement?.items ?? [], ({ status }) => status);
    await Promise.all(
      Array.from(byStatus, ([status, settled]) =>
        this.#context.items.finalize(
          settled.map(({ index }) => itemId(_id, index)),
          status,
        ),
      ),
    );
  }

  async #publishEvents(job: JobDocument, knownItems: readonly DecidedItem[]): Promise<void> {
    const { settlement } = job;
    const announced = settlement?.items.filter(({ event }) => event !== undefined) ?? [];
    if (settlement === null || announced.length === 0) return;
    const indexes = announced.map(({ index }) => index);
    const documents =
      knownItems.length > 0 ? knownItems : await this.#context.items.findByIndexes(job._id, indexes);
    await this.#context.events.write(itemEventsOf(job, settlement, documents));
  }

  /**
   * Prepares the settlement of a batch. It contains an event for each outcome to which a webhook endpoint subscribes.
   */
  async #prepareSettlement(job: JobDocument, batch: readonly DecidedItem[]): Promise<SettledBatch> {
    const [completed, failed] = await Promise.all([
      this.#context.events.isWanted(job.accountId, 'job.item.completed'),
      this.#context.events.isWanted(job.accountId, 'job.item.failed'),
    ]);
    const eventTypes = {
      COMPLETED: completed ? 'job.item.completed' : null,
      FAILED: failed ? 'job.item.failed' : null,
      CANCELLED: null,
    } as const;
    const now = this.#context.now();
    const items = batch.map(({ index, outcome: { status } }): SettledItem => {
      const type = eventTypes[status];
      return { index, status, ...(type !== null && { event: { id: newId('evt', now.getTime()), type } }) };
    });
    return { id: randomText(16), before: job.settledItems, at: now.toISOString(), items };
  }
}

/** The fields of an item that its event contains. */
type AnnouncedItem = Pick<ItemDocument, 'index' | 'assetId' | 'outcome' | 'progress'>;

/** The events for the items of a settlement. Each contains the number of items that had settled by then. */
function itemEventsOf(
  job: JobDocument,
  settlement: SettledBatch,
  documents: ReadonlyArray<Partial<AnnouncedItem>>,
): OutboxEvent[] {
  const byIndex = new Map(documents.map((item) => [item.index, item]));
  let settledItems = settlement.before;
  return settlement.items.flatMap(({ index, status, event }) => {
    if (status !== 'CANCELLED') settledItems += 1;
    const item = byIndex.get(index);
    if (event === undefined || item?.outcome === undefined) return [];
    return {
      id: event.id,
      accountId: job.accountId,
      type: event.type,
      createdAt: settlement.at,
      sequence: settledItems,
      data: itemEventDataOf(job, { ...item, index, outcome: item.outcome }, settledItems),
    };
  });
}

function itemEventDataOf(
  job: JobDocument,
  { index, assetId, outcome, progress }: Partial<AnnouncedItem> & { index: number; outcome: ItemOutcome },
  settledItems: number,
): Record<string, unknown> {
  const { resultAssetId, output, errorCode, retryable, errorMessage, failedStep } = outcome;
  const isChain = job.type === 'chain';
  return {
    jobId: job._id,
    type: job.type,
    status: outcome.status,
    totalItems: job.totalItems,
    itemIndex: index,
    settledItems,
    ...(output !== undefined && outcome.status === 'COMPLETED' && { output: JSON.parse(output) }),
    ...(isChain && { step: failedStep ?? progress?.segment ?? 0 }),
    ...withoutAbsentFields({ sourceAssetId: assetId, resultAssetId }),
    ...withoutAbsentFields({ failedStep, errorCode, retryable, error: errorMessage }),
  };
}
