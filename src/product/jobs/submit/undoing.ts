import type { JobQuota } from '../../assets/quota/job-quota.ts';
import type { Holds } from '../../billing/holds.ts';
import type { ItemsStore } from '../items-store.ts';
import type { JobDocument } from '../job.ts';
import type { JobsStore } from '../store.ts';

const ITEMS_A_CALL = 500;

/**
 * Undoes a submit that was not finished: nobody has seen its job. The hidden document is claimed first, so that a
 * submit which is only slow cannot show it any more; it goes last, so that a crash between leaves it to be undone
 * again.
 */
export interface Undoing {
  /** Undoes a hidden job; does nothing with one that was shown. */
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
