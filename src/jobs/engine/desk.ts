import { type Clock, systemClock } from '../../clock/clock.ts';
import { throughOutages } from '../../stores/outages.ts';
import type { ItemsStore } from '../items-store.ts';
import type { Claimed, JobDocument, Outcome } from '../job.ts';
import type { JobsStore } from '../store.ts';
import type { Ending } from './ending.ts';
import type { Decided, JobSettlement } from './settlement.ts';

/** Outcomes of one job that this process has decided and not settled yet. */
interface Tray {
  waiting: Array<{ decided: Decided; looks: number; settled: () => void; failed: (error: unknown) => void }>;
  isAtWork: boolean;
  /** When the last settlement began, by the clock's elapsedMs. */
  lastMs: number;
  /** Ends the gathering of outcomes; null where none gather. */
  stopGathering: (() => void) | null;
  /** Of the outcome that came last: see Settling. */
  hasMore: () => boolean;
  /** The job behind our last settlement, as long as nobody else has settled since. */
  seen: JobDocument | null;
  /** How often the job was read again. Outcomes that were decided before the last time are looked at again. */
  looks: number;
}

const LARGEST_BATCH = 64;
/**
 * A process that has more items of a job at work settles it no sooner than this after the last time: a settlement takes three writes
 * and the questions about those of other processes, however many outcomes it counts. So counters and events of a batch are as late at most.
 */
const GATHER_MS = 250;
const KEPT_TRAYS = 1_000;

/** How an item goes on while its outcome is settled. */
export interface Settling {
  /** Called when its outcome is decided, unless so many wait to be settled already that no more should come. */
  onDecided: () => void;
  /** Whether this process has more items of the job at work, whose outcomes are to come. */
  hasMore: () => boolean;
  /** Until when the documents are waited for, should they be away. */
  signal: AbortSignal;
}

/**
 * Where the outcomes of a process are settled: those that are decided while a settlement of their job is under way, or
 * shortly behind one, go together into the next one.
 */
export function createDesk(options: {
  jobs: Pick<JobsStore, 'get'>;
  items: Pick<ItemsStore, 'decide'>;
  settlement: Pick<JobSettlement, 'settle'>;
  ending: Pick<Ending, 'endIfOver'>;
  clock?: Clock;
}) {
  const { jobs, items, settlement, ending, clock = systemClock } = options;
  const trays = new Map<string, Tray>();

  /** @param job as it was read before its items were claimed: one without a settlement has none to write out. */
  function trayOf(job: JobDocument): Tray {
    const seen = job.settlement === null ? job : null;
    const tray = trays.get(job._id) ?? newTray(seen);
    trays.set(job._id, tray);
    return tray;
  }

  /** How long the outcomes that wait are left to gather, in milliseconds. */
  function restMs({ waiting, lastMs, hasMore }: Tray): number {
    if (waiting.length >= LARGEST_BATCH || !hasMore()) return 0;
    return Math.max(0, lastMs + GATHER_MS - clock.elapsedMs());
  }

  function workSoon(jobId: string, tray: Tray): void {
    const waitMs = restMs(tray);
    if (waitMs === 0) void work(jobId, tray);
    else tray.stopGathering ??= clock.after(waitMs, () => void work(jobId, tray));
  }

  async function work(jobId: string, tray: Tray): Promise<void> {
    tray.stopGathering?.();
    tray.stopGathering = null;
    if (tray.isAtWork) return;
    tray.isAtWork = true;
    do {
      tray.lastMs = clock.elapsedMs();
      await settleBatch(jobId, tray, tray.waiting.splice(0, LARGEST_BATCH));
    } while (tray.waiting.length > 0 && restMs(tray) === 0);
    tray.isAtWork = false;
    if (tray.waiting.length > 0) workSoon(jobId, tray);
    else if (trays.size > KEPT_TRAYS) trays.delete(jobId);
  }

  async function settleBatch(jobId: string, tray: Tray, batch: Tray['waiting']): Promise<void> {
    const isCertain = batch.every(({ looks }) => looks === tray.looks);
    const onLook = () => {
      tray.looks += 1;
    };
    try {
      const outcomes = batch.map(({ decided }) => decided);
      const settled = await settlement.settle(jobId, outcomes, isCertain ? tray.seen : null, onLook);
      tray.seen = settled;
      const job = settled && (await ending.endIfOver(settled, true));
      if (job?.phase !== 'open') trays.delete(jobId);
      for (const { settled: resolve } of batch) resolve();
    } catch (error) {
      tray.seen = null;
      for (const { failed } of batch) failed(error);
    }
  }

  return {
    /**
     * Decides an item's outcome and settles it.
     * @returns false when the claim was lost meanwhile: nothing happened then.
     */
    async settle(
      job: JobDocument,
      item: Claimed,
      outcome: Outcome,
      { onDecided, hasMore, signal }: Settling,
    ): Promise<boolean> {
      const tray = trayOf(job);
      const { looks } = tray;
      if (!(await throughOutages(() => items.decide(item, outcome), signal))) return false;
      await new Promise<void>((settled, failed) => {
        tray.waiting.push({ decided: { ...item, outcome }, looks, settled, failed });
        tray.hasMore = hasMore;
        if (tray.waiting.length < LARGEST_BATCH) onDecided();
        workSoon(job._id, tray);
      });
      return true;
    },

    /** Ends a job that is being cancelled, when the item that was given back was its last one. */
    async lookAt(jobId: string): Promise<void> {
      const job = await jobs.get(jobId);
      if (job?.status === 'CANCELLING') await ending.endIfOver(job);
    },
  };
}

function newTray(seen: JobDocument | null): Tray {
  return {
    ...{ waiting: [], isAtWork: false, lastMs: Number.NEGATIVE_INFINITY, stopGathering: null },
    ...{ hasMore: () => false, seen, looks: 0 },
  };
}

export type Desk = ReturnType<typeof createDesk>;
