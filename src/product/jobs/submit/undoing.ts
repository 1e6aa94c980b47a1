import type { JobQuota } from '../../assets/quota/job-quota.ts';
import type { Holds } from '../../billing/holds.ts';
import type { ItemsStore } from '../items-store.ts';
import type { JobDocument } from '../job.ts';
import type { JobsStore } from '../store.ts';

const ITEMS_A_CALL = 500;

/**
 * Undoes an unfinished submit, whose job was never shown. The hidden document is claimed first, so that a slow submit
 * can no longer show it, and deleted last, so that after a crash it is undone again.
 */
export interface Undoing {
  /** Undoes a hidden job. A job that was shown is left alone. */
  undo(job: JobDocument): Promise<void>;
  finish(job: Pick<JobDocument, '_id' | 'accountId'>): Promise<void>;
}

export function createUndoing(options: {
  jobs: JobsStore;
  items: ItemsStore;
  holds: Holds;
  quota: JobQuota;
}): Undoing {
  const { jobs, items, holds, quota } = options;

  async function finish({ _id, accountId }: Pick<JobDocument, '_id' | 'accountId'>): Promise<void> {
    await holds.undo(accountId, _id);
    await quota.undo(accountId, _id);
    while ((await items.erase(_id, ITEMS_A_CALL)) > 0);
    await jobs.erase(_id);
  }

  return {
    async undo(job) {
      const claimed = await jobs.movePhase(job._id, 'hidden', 'leaving');
      const isOurs = claimed !== null || (await jobs.get(job._id)) === null;
      if (isOurs) await finish(job);
    },
    finish,
  };
}
