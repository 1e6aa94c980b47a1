import type { Static } from '@sinclair/typebox';
import type { Page, PagingQuery } from '../http/lists/paging.ts';
import type { Ending } from './engine/ending.ts';
import type { JobSettlement } from './engine/settlement.ts';
import { jobNotFound } from './errors.ts';
import type { JobDocument } from './job.ts';
import type { JobCount } from './schema.ts';
import type { JobFilters, JobsStore } from './store.ts';

/**
 * How callers read jobs. An ended job is told of only when its charge has moved and its places are given back: who reads
 * one in the moment between, or behind a process that died there, sees to that first. Other reads cost nothing more.
 */
export function createReading(options: {
  jobs: JobsStore;
  settlement: Pick<JobSettlement, 'finishItems'>;
  finish: Ending['finish'];
}) {
  const { jobs, settlement, finish } = options;

  /** The same job, with what follows from its end done. */
  async function concluded(job: JobDocument): Promise<JobDocument> {
    if (job.phase === 'ended') await finish(job);
    return job;
  }

  async function findIfAny(accountId: string, jobId: string): Promise<JobDocument | null> {
    const job = await jobs.find(accountId, jobId);
    return job && concluded(job);
  }

  /** @throws ApiError job_not_found */
  async function find(accountId: string, jobId: string): Promise<JobDocument> {
    const job = await findIfAny(accountId, jobId);
    if (job === null) throw jobNotFound(jobId);
    return job;
  }

  /** Concludes the account's jobs, where rows that were counted by phase tell of any that need it. */
  async function concludeCounted(accountId: string, rows: ReadonlyArray<Record<string, unknown>>) {
    if (!rows.some(({ phase }) => phase === 'ended')) return;
    await Promise.all((await jobs.ended(accountId)).map(finish));
  }

  return {
    concluded,
    findIfAny,
    find,

    /**
     * A job whose items are about to be chosen by their status: those that are counted have their final one then.
     * @throws ApiError job_not_found
     */
    async findWithStatuses(accountId: string, jobId: string): Promise<JobDocument> {
      const job = await find(accountId, jobId);
      // Of one that has ended they have it since its end.
      if (job.phase === 'open') await settlement.finishItems(job);
      return job;
    },

    /** One page, newest first. */
    async list(accountId: string, filters: JobFilters, query: PagingQuery): Promise<Page<JobDocument>> {
      const page = await jobs.list(accountId, filters, query);
      await Promise.all(page.rows.map(concluded));
      return page;
    },

    /** How many jobs of each status and type there are. */
    async counts(accountId: string, filters: JobFilters): Promise<Array<Static<typeof JobCount>>> {
      const rows = await jobs.counts(accountId, filters);
      await concludeCounted(accountId, rows);
      const counts = new Map<string, Static<typeof JobCount>>();
      for (const { status, type, count } of rows) {
        const key = `${status}/${type}`;
        counts.set(key, { status, type, count: (counts.get(key)?.count ?? 0) + count });
      }
      return [...counts.values()];
    },

    /** Sums over the jobs created in a window, by one of their fields; a key may have several rows. */
    async sums(accountId: string, window: { from: string; to: string }, by: 'usageKey' | 'apiKeyId' | 'day') {
      const rows = await jobs.sums(accountId, window, by);
      await concludeCounted(accountId, rows);
      return rows;
    },
  };
}

export type Reading = ReturnType<typeof createReading>;
