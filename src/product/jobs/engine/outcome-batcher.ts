import { type Clock, systemClock } from '../../../platform/clock.ts';
import { retryThroughOutages } from '../../../platform/stores/outages.ts';
import type { ItemsStore } from '../items-store.ts';
import type { ItemOutcome, JobDocument } from '../job.ts';
import type { RunnerItemSlot, RunningItem } from './active-job.ts';
import type { JobCompletion } from './completion.ts';
import type { DecidedItem, OutcomeRecorder, RecordedJobView } from './outcomes.ts';

interface WaitingOutcome {
  decided: DecidedItem;
  /** How often the job had been read when the outcome was decided. */
  readCount: number;
  recorded: () => void;
  failed: (error: unknown) => void;
}

const MAX_OUTCOMES_PER_RECORDING = 64;
/**
 * The minimum interval between two recordings of a job while this process works on more of its items. A recording takes
 * three writes, however many outcomes it contains. The counts and events of the job are late by at most this time.
 */
const MIN_RECORDING_INTERVAL_MS = 250;
const MAX_IDLE_BATCHES = 1_000;

interface BatcherOptions {
  items: Pick<ItemsStore, 'decide'>;
  outcomes: Pick<OutcomeRecorder, 'record'>;
  completion: Pick<JobCompletion, 'completeIfOver'>;
  clock?: Clock;
}

interface OutcomeToRecord extends RunningItem {
  outcome: ItemOutcome;
  /** Aborts the retries when the document store does not respond. */
  signal: AbortSignal;
}

/**
 * Collects the outcomes that this process decides, and records those of a job together. Outcomes that are decided
 * during a recording, or shortly after it, wait for the next one.
 */
export class OutcomeBatcher {
  readonly #options: BatcherOptions;
  readonly #batches = new Map<string, JobBatch>();

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /**
   * Decides the outcome of an item and records it. The item's slot is freed when the outcome is decided, or only after
   * the recording if the batch of the job is full.
   * @returns false if the claim had been lost. In this case, nothing is recorded.
   */
  async record({ job, item, outcome, slot, signal }: OutcomeToRecord): Promise<boolean> {
    const batch = this.#batchOf(job);
    const { readCount } = batch;
    if (!(await retryThroughOutages(() => this.#options.items.decide(item, outcome), signal))) return false;
    await batch.record({ ...item, outcome }, readCount, slot);
    return true;
  }

  /**
   * The batch in which outcomes of a job wait.
   * @param job the job as it was before its items were claimed.
   */
  #batchOf(job: JobDocument): JobBatch {
    const known = this.#batches.get(job._id);
    if (known !== undefined) return known;
    const batch = new JobBatch(job, this.#options, (isOver) => {
      if (isOver || this.#batches.size > MAX_IDLE_BATCHES) this.#batches.delete(job._id);
    });
    this.#batches.set(job._id, batch);
    return batch;
  }
}

/** The outcomes of one job that this process has decided but not yet recorded. */
class JobBatch {
  readonly #jobId: string;
  readonly #options: BatcherOptions;
  readonly #clock: Clock;
  /** Called when the job has ended, or when no more outcomes of the job are waiting. */
  readonly #onIdle: (isOver: boolean) => void;
  readonly #view: RecordedJobView;
  readonly #waiting: WaitingOutcome[] = [];
  #isRecording = false;
  /** When the last recording began, as `elapsedMs()` of the clock. */
  #lastRecordingMs = Number.NEGATIVE_INFINITY;
  /** Cancels the timer of the next recording; null when no timer runs. */
  #cancelTimer: (() => void) | null = null;
  /** Whether this process will decide more outcomes of the job: `hasSiblings` of the slot of the latest item. */
  #hasMore = () => false;

  constructor(job: JobDocument, options: BatcherOptions, onIdle: (isOver: boolean) => void) {
    this.#jobId = job._id;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#onIdle = onIdle;
    // A job without a settlement has nothing to publish, so it need not be read again.
    this.#view = { job: job.settlement === null ? job : null, readCount: 0 };
  }

  /** How often the job has been read for this batch. */
  get readCount(): number {
    return this.#view.readCount;
  }

  /**
   * Queues a decided outcome, and resolves when it is recorded in the job.
   * @param readCount how often the job had been read when the outcome was decided.
   */
  record(decided: DecidedItem, readCount: number, slot: RunnerItemSlot): Promise<void> {
    return new Promise<void>((recorded, failed) => {
      this.#waiting.push({ decided, readCount, recorded, failed });
      this.#hasMore = slot.hasSiblings;
      if (this.#waiting.length < MAX_OUTCOMES_PER_RECORDING) slot.release();
      this.#recordSoon();
    });
  }

  #recordSoon(): void {
    const waitMs = this.#remainingWaitMs();
    if (waitMs === 0) void this.#recordWaiting();
    else this.#cancelTimer ??= this.#clock.after(waitMs, () => void this.#recordWaiting());
  }

  /** The time until the waiting outcomes are to be recorded, in milliseconds. */
  #remainingWaitMs(): number {
    if (this.#waiting.length >= MAX_OUTCOMES_PER_RECORDING || !this.#hasMore()) return 0;
    return Math.max(0, this.#lastRecordingMs + MIN_RECORDING_INTERVAL_MS - this.#clock.elapsedMs());
  }

  async #recordWaiting(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#isRecording) return;
    this.#isRecording = true;
    do {
      this.#lastRecordingMs = this.#clock.elapsedMs();
      await this.#recordBatch(this.#waiting.splice(0, MAX_OUTCOMES_PER_RECORDING));
    } while (this.#waiting.length > 0 && this.#remainingWaitMs() === 0);
    this.#isRecording = false;
    if (this.#waiting.length > 0) this.#recordSoon();
    else this.#onIdle(false);
  }

  async #recordBatch(together: readonly WaitingOutcome[]): Promise<void> {
    const view = this.#view;
    const decided = together.map((waiting) => waiting.decided);
    if (together.some(({ readCount }) => readCount !== view.readCount)) view.job = null;
    try {
      const job = await this.#options.outcomes.record(this.#jobId, decided, view);
      const completed = job && (await this.#options.completion.completeIfOver(job, { isPublished: true }));
      if (completed?.phase !== 'open') this.#onIdle(true);
      for (const { recorded } of together) recorded();
    } catch (error) {
      view.job = null;
      for (const { failed } of together) failed(error);
    }
  }
}
