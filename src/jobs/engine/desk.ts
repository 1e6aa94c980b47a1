import type { ItemsStore } from '../items-store.ts';
import type { Claimed, JobDocument, Outcome } from '../job.ts';
import type { JobsStore } from '../store.ts';
import type { Ending } from './ending.ts';
import type { Decided, JobSettlement } from './settlement.ts';

/** Outcomes of one job that this process has decided and not settled yet. */
interface Tray {
  waiting: Array<{ decided: Decided; looks: number; settled: () => void; failed: (error: unknown) => void }>;
  isAtWork: boolean;
  /** The job behind our last settlement, as long as nobody else has settled since. */
  seen: JobDocument | null;
  /** How often the job was read anew. Outcomes that were decided before the last time are looked at again. */
  looks: number;
}

const LARGEST_BATCH = 64;
const KEPT_TRAYS = 1_000;

/**
 * Where the outcomes of a process are settled: those that are decided while a settlement of their job is under way go
 * together into the next one.
 */
export function createDesk(options: {
  jobs: JobsStore;
  items: ItemsStore;
  settlement: JobSettlement;
  ending: Ending;
}) {
  const { jobs, items, settlement, ending } = options;
  const trays = new Map<string, Tray>();

  /** @param job as it was read before its items were claimed: one without a settlement has none to write out. */
  function trayOf(job: JobDocument): Tray {
    const seen = job.settlement === null ? job : null;
    const tray = trays.get(job._id) ?? { waiting: [], isAtWork: false, seen, looks: 0 };
    trays.set(job._id, tray);
    return tray;
  }

  async function work(jobId: string, tray: Tray): Promise<void> {
    if (tray.isAtWork) return;
    tray.isAtWork = true;
    while (tray.waiting.length > 0) await settleBatch(jobId, tray, tray.waiting.splice(0, LARGEST_BATCH));
    tray.isAtWork = false;
    if (trays.size > KEPT_TRAYS) trays.delete(jobId);
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
    async settle(job: JobDocument, item: Claimed, outcome: Outcome): Promise<boolean> {
      const tray = trayOf(job);
      const { looks } = tray;
      if (!(await items.decide(item, outcome))) return false;
      await new Promise<void>((settled, failed) => {
        tray.waiting.push({ decided: { ...item, outcome }, looks, settled, failed });
        void work(job._id, tray);
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

export type Desk = ReturnType<typeof createDesk>;
