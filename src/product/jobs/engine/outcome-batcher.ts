import { type Clock, systemClock } from '../../../platform/clock.ts';
import { retryThroughOutages } from '../../../platform/stores/outages.ts';
import type { ItemsStore } from '../items-store.ts';
import type { ItemOutcome, JobDocument } from '../job.ts';
import type { ItemAtWork } from './active-job.ts';
import type { JobCompletion } from './completion.ts';
import type { DecidedItem, OutcomeRecorder, RecordedJobView } from './outcomes.ts';

/** The outcomes of one job that this process has decided but not yet recorded. */
interface JobBatch {
  waiting: WaitingOutcome[];
  isRecording: boolean;
  /** When the last recording began, in the clock's elapsed milliseconds. */
  lastMs: number;
  /** Cancels the timer of the next recording; null when no timer runs. */
  cancelTimer: (() => void) | null;
  /** Whether more outcomes of the job will follow, as the slot of the latest item says. */
  hasMore: () => boolean;
  view: RecordedJobView;
}

interface WaitingOutcome {
  decided: DecidedItem;
  /** How often the job had been read before the outcome was decided. */
  readings: number;
  recorded: () => void;
  failed: (error: unknown) => void;
}

const MAX_BATCH_SIZE = 64;
/**
 * A process that works on more items of a job waits at least this long between two recordings, because a recording
 * takes three writes, however many outcomes it counts. The counters and events of a batch are late by at most this
 * time.
 */
const MIN_RECORDING_INTERVAL_MS = 250;
const MAX_KEPT_BATCHES = 1_000;

interface BatcherOptions {
  items: Pick<ItemsStore, 'decide'>;
  outcomes: Pick<OutcomeRecorder, 'record'>;
  completion: Pick<JobCompletion, 'completeIfOver'>;
  clock?: Clock;
}

interface OutcomeToRecord extends ItemAtWork {
  outcome: ItemOutcome;
  /** Ends the wait for the document store during an outage. */
  signal: AbortSignal;
}

/**
 * Records the outcomes of a process. Outcomes that are decided during a recording, or shortly after it, are recorded
 * together in the next one.
 */
export class OutcomeBatcher {
  readonly #parts: BatcherOptions;
  readonly #clock: Clock;
  readonly #batches = new Map<string, JobBatch>();

  constructor(parts: BatcherOptions) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
  }

  /**
   * Decides the outcome of an item and records it. The slot of the item is released when the outcome is decided, unless
   * a full batch waits to be recorded.
   * @returns false when the claim was lost meanwhile; nothing happened then.
   */
  async record({ job, item, outcome, slot, signal }: OutcomeToRecord): Promise<boolean> {
    const batch = this.#batchOf(job);
    const { readings } = batch.view;
    if (!(await retryThroughOutages(() => this.#parts.items.decide(item, outcome), signal))) return false;
    await new Promise<void>((recorded, failed) => {
      batch.waiting.push({ decided: { ...item, outcome }, readings, recorded, failed });
      batch.hasMore = slot.hasSiblings;
      if (batch.waiting.length < MAX_BATCH_SIZE) slot.release();
      this.#recordSoon(job._id, batch);
    });
    return true;
  }

  /**
   * The batch of a job.
   * @param job as it was before its items were claimed.
   */
  #batchOf(job: JobDocument): JobBatch {
    const batch = this.#batches.get(job._id) ?? newBatch(job);
    this.#batches.set(job._id, batch);
    return batch;
  }

  /** Milliseconds until the waiting outcomes are recorded. */
  #remainingWaitMs({ waiting, lastMs, hasMore }: JobBatch): number {
    if (waiting.length >= MAX_BATCH_SIZE || !hasMore()) return 0;
    return Math.max(0, lastMs + MIN_RECORDING_INTERVAL_MS - this.#clock.elapsedMs());
  }

  #recordSoon(jobId: string, batch: JobBatch): void {
    const waitMs = this.#remainingWaitMs(batch);
    if (waitMs === 0) void this.#recordWaiting(jobId, batch);
    else batch.cancelTimer ??= this.#clock.after(waitMs, () => void this.#recordWaiting(jobId, batch));
  }

  async #recordWaiting(jobId: string, batch: JobBatch): Promise<void> {
    batch.cancelTimer?.();
    batch.cancelTimer = null;
    if (batch.isRecording) return;
    batch.isRecording = true;
    do {
      batch.lastMs = this.#clock.elapsedMs();
      await this.#recordBatch(jobId, batch, batch.waiting.splice(0, MAX_BATCH_SIZE));
    } while (batch.waiting.length > 0 && this.#remainingWaitMs(batch) === 0);
    batch.isRecording = false;
    if (batch.waiting.length > 0) this.#recordSoon(jobId, batch);
    else if (this.#batches.size > MAX_KEPT_BATCHES) this.#batches.delete(jobId);
  }

  async #recordBatch(jobId: string, batch: JobBatch, together: WaitingOutcome[]): Promise<void> {
    const { view } = batch;
    const decided = together.map((waiting) => waiting.decided);
    if (together.some(({ readings }) => readings !== view.readings)) view.job = null;
    try {
      const job = await this.#parts.outcomes.record(jobId, decided, view);
      const completed = job && (await this.#parts.completion.completeIfOver(job, { isPublished: true }));
      if (completed?.phase !== 'open') this.#batches.delete(jobId);
      for (const { recorded } of together) recorded();
    } catch (error) {
      view.job = null;
      for (const { failed } of together) failed(error);
    }
  }
}

/** A new batch. A job without a settlement has nothing to publish, so it need not be read again. */
function newBatch(job: JobDocument): JobBatch {
  return {
    waiting: [],
    isRecording: false,
    lastMs: Number.NEGATIVE_INFINITY,
    cancelTimer: null,
    hasMore: () => false,
    view: { job: job.settlement === null ? job : null, readings: 0 },
  };
}
