import type { ListPage, PagingQuery } from '../../platform/http/paging/paging.ts';
import type { Completion } from './engine/completion.ts';
import type { Outcomes } from './engine/outcomes.ts';
import { jobNotFound } from './errors.ts';
import type { JobDocument } from './job.ts';
import type { JobCount } from './schema.ts';
import type { JobFilters, JobsStore } from './store.ts';

/**
 * Reads jobs for callers. A caller sees the end of a job only after its clean-up: a read that finds an ended job
 * without it cleans up first. Other reads cost nothing more.
 */
export interface Reading {
  /** The job after its clean-up, where it has ended. */
  cleanedUp(job: JobDocument): Promise<JobDocument>;
  findIfAny(accountId: string, jobId: string): Promise<JobDocument | null>;
  /** @throws ApiError job_not_found */
  find(accountId: string, jobId: string): Promise<JobDocument>;
  /**
   * A job whose items are selected by status next: counted items have their final status then.
   * @throws ApiError job_not_found
   */
  findWithStatuses(accountId: string, jobId: string): Promise<JobDocument>;
  /** One page, newest first. */
  list(accountId: string, filters: JobFilters, query: PagingQuery): Promise<ListPage<JobDocument>>;
  /** Number of jobs by status and type. */
  counts(accountId: string, filters: JobFilters): Promise<JobCount[]>;
  /** Sums over the jobs created in a window, by one of their fields; a key may have several rows. */
  sums(
    accountId: string,
    window: { from: string; to: string },
    by: 'usageKey' | 'apiKeyId' | 'day',
  ): Promise<Record<string, string | number | null>[]>;
}

export function createReading({
  jobs,
  outcomes,
  completion,
}: {
  jobs: JobsStore;
  outcomes: Outcomes;
  completion: Completion;
}): Reading {
  async function cleanedUp(job: JobDocument): Promise<JobDocument> {
    if (job.phase === 'ended') await completion.cleanUp(job);
    return job;
  }

  async function findIfAny(accountId: string, jobId: string): Promise<JobDocument | null> {
    const job = await jobs.find(accountId, jobId);
    return job && cleanedUp(job);
  }

  async function find(accountId: string, jobId: string): Promise<JobDocument> {
    const job = await findIfAny(accountId, jobId);
    if (job === null) throw jobNotFound(jobId);
    return job;
  }

  /** Cleans up the account's jobs that have ended, where rows that were counted by phase show any. */
  async function cleanUpCounted(accountId: string, rows: ReadonlyArray<Record<string, unknown>>) {
    if (!rows.some(({ phase }) => phase === 'ended')) return;
    await Promise.all((await jobs.ended(accountId)).map(completion.cleanUp));
  }

  return {
    cleanedUp,
    findIfAny,
    find,

    async findWithStatuses(accountId, jobId) {
      const job = await find(accountId, jobId);
      // Items have their final status since the end of their job.
      if (job.phase === 'open') await outcomes.finalizeItems(job);
      return job;
    },

    async list(accountId, filters, query) {
      const page = await jobs.list(accountId, filters, query);
      await Promise.all(page.rows.map(cleanedUp));
      return page;
    },

    async counts(accountId, filters) {
      const rows = await jobs.counts(accountId, filters);
      await cleanUpCounted(accountId, rows);
      const counts = new Map<string, JobCount>();
      for (const { status, type, count } of rows) {
        const key = `${status}/${type}`;
        counts.set(key, { status, type, count: (counts.get(key)?.count ?? 0) + count });
      }
      return [...counts.values()];
    },

    async sums(accountId, window, by) {
      const rows = await jobs.sums(accountId, window, by);
      await cleanUpCounted(accountId, rows);
      return rows;
    },
  };
}
