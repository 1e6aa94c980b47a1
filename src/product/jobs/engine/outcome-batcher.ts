import { type Clock, systemClock } from '../../../platform/clock.ts';
import { throughOutages } from '../../../platform/stores/outages.ts';
import type { ItemsStore } from '../items-store.ts';
import type { Claimed, JobDocument, Outcome } from '../job.ts';
import type { JobsStore } from '../store.ts';
import type { ItemSlot } from './active-job.ts';
import type { Completion } from './completion.ts';
import type { Decided, JobView, Outcomes } from './outcomes.ts';

/** The outcomes of one job that this process has decided and not recorded yet. */
interface JobBatch {
  waiting: Waiting[];
  isRecording: boolean;
  /** When the last recording began, by the clock's elapsedMs. */
  lastMs: number;
  /** Ends the gathering of outcomes; null while none gather. */
  stopGathering: (() => void) | null;
  /** Whether more outcomes are to come, as of the latest one. */
  hasMore: () => boolean;
  view: JobView;
}

interface Waiting {
  decided: Decided;
  /** The readings of the job before the outcome was decided. */
  readings: number;
  recorded: () => void;
  failed: (error: unknown) => void;
}

const MAX_BATCH_SIZE = 64;
/**
 * A process that works on more items of a job records its outcomes no sooner than this after the last time: a recording
 * takes three writes, however many outcomes it counts. The counters and events of a batch are late by as much at most.
 */
const GATHER_MS = 250;
const KEPT_BATCHES = 1_000;

interface OutcomeToRecord {
  job: JobDocument;
  item: Claimed;
  outcome: Outcome;
  /** Released when the outcome is decided, unless a full batch waits to be recorded. */
  slot: ItemSlot;
  /** Ends the wait for the documents during an outage. */
  signal: AbortSignal;
}

/**
 * Records the outcomes of a process: those that are decided during a recording, or shortly after it, go into the next
 * one.
 */
export interface OutcomeBatcher {
  /**
   * Decides the outcome of an item and records it.
   * @returns false when the claim was lost meanwhile: nothing happened then.
   */
  record(outcome: OutcomeToRecord): Promise<boolean>;
  /** Completes a job that is being cancelled, when the item that was given back was its last one. */
  completeIfCancelled(jobId: string): Promise<void>;
}

export function createOutcomeBatcher(options: {
  jobs: Pick<JobsStore, 'get'>;
  items: Pick<ItemsStore, 'decide'>;
  outcomes: Pick<Outcomes, 'record'>;
  completion: Pick<Completion, 'completeIfOver' | 'completeRecorded'>;
  clock?: Clock;
}): OutcomeBatcher {
  const { jobs, items, outcomes, completion, clock = systemClock } = options;
  const batches = new Map<string, JobBatch>();

  /** @param job as it was read before its items were claimed: one without a settlement has none to publish. */
  function batchOf(job: JobDocument): JobBatch {
    const batch = batches.get(job._id) ?? newBatch(job);
    batches.set(job._id, batch);
    return batch;
  }

  /** How long the outcomes that wait may gather, in milliseconds. */
  function gatherMs({ waiting, lastMs, hasMore }: JobBatch): number {
    if (waiting.length >= MAX_BATCH_SIZE || !hasMore()) return 0;
    return Math.max(0, lastMs + GATHER_MS - clock.elapsedMs());
  }

  function recordSoon(jobId: string, batch: JobBatch): void {
    const waitMs = gatherMs(batch);
    if (waitMs === 0) void recordWaiting(jobId, batch);
    else batch.stopGathering ??= clock.after(waitMs, () => void recordWaiting(jobId, batch));
  }

  async function recordWaiting(jobId: string, batch: JobBatch): Promise<void> {
    batch.stopGathering?.();
    batch.stopGathering = null;
    if (batch.isRecording) return;
    batch.isRecording = true;
    do {
      batch.lastMs = clock.elapsedMs();
      await recordTogether(jobId, batch, batch.waiting.splice(0, MAX_BATCH_SIZE));
    } while (batch.waiting.length > 0 && gatherMs(batch) === 0);
    batch.isRecording = false;
    if (batch.waiting.length > 0) recordSoon(jobId, batch);
    else if (batches.size > KEPT_BATCHES) batches.delete(jobId);
  }

  async function recordTogether(jobId: string, batch: JobBatch, together: Waiting[]): Promise<void> {
    const { view } = batch;
    const decided = together.map((waiting) => waiting.decided);
    if (together.some(({ readings }) => readings !== view.readings)) view.job = null;
    try {
      const job = await outcomes.record(jobId, decided, view);
      const completed = job && (await completion.completeRecorded(job));
      if (completed?.phase !== 'open') batches.delete(jobId);
      for (const { recorded } of together) recorded();
    } catch (error) {
      view.job = null;
      for (const { failed } of together) failed(error);
    }
  }

  return {
    async record({ job, item, outcome, slot, signal }) {
      const batch = batchOf(job);
      const { readings } = batch.view;
      if (!(await throughOutages(() => items.decide(item, outcome), signal))) return false;
      await new Promise<void>((recorded, failed) => {
        batch.waiting.push({ decided: { ...item, outcome }, readings, recorded, failed });
        batch.hasMore = slot.hasSiblings;
        if (batch.waiting.length < MAX_BATCH_SIZE) slot.release();
        recordSoon(job._id, batch);
      });
      return true;
    },

    async completeIfCancelled(jobId) {
      const job = await jobs.get(jobId);
      if (job?.status === 'CANCELLING') await completion.completeIfOver(job);
    },
  };
}

function newBatch(job: JobDocument): JobBatch {
  return {
    waiting: [],
    isRecording: false,
    lastMs: Number.NEGATIVE_INFINITY,
    stopGathering: null,
    hasMore: () => false,
    view: { job: job.settlement === null ? job : null, readings: 0 },
  };
}
