import {
  collectParts,
  type ListPage,
  type OnLongRead,
  type PagingQuery,
  ROWS_PER_READ,
} from '../../platform/http/lists.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { CONSOLE_USAGE_KEY, type UsageSource } from '../billing/usage.ts';
import type { ReadPresetUsage } from '../presets/reading.ts';
import type { JobsContext } from './context.ts';
import type { JobDefinition } from './definitions.ts';
import type { JobCompletion } from './engine/completion.ts';
import type { OutcomeRecorder } from './engine/outcomes.ts';
import { jobNotFoundError } from './errors.ts';
import type { ItemDocument, JobDocument } from './job.ts';
import { isSummaryView, type JobView, jobDataOf, jobSummaryOf, selectJobFields } from './responses.ts';
import type { Job, JobCount } from './schema.ts';
import type { JobFilters } from './store.ts';

interface ReaderOptions {
  completion: Pick<JobCompletion, 'cleanUp'>;
  outcomes: Pick<OutcomeRecorder, 'finalizeItems'>;
}

/** The field of the job document for each grouping of usage. */
const USAGE_GROUP_FIELDS = { op: 'usageKey', key: 'apiKeyId', day: 'day' } as const;

/**
 * Reads jobs for callers. A caller must not see the end of a job before its clean-up. If a read finds an ended job that
 * is not cleaned up, it therefore cleans up first.
 */
export class JobReader {
  readonly #context: JobsContext;
  readonly #options: ReaderOptions;

  constructor(context: JobsContext, options: ReaderOptions) {
    this.#context = context;
    this.#options = options;
  }

  async cleanUpIfEnded(job: JobDocument): Promise<JobDocument> {
    if (job.phase === 'ended') await this.#options.completion.cleanUp(job);
    return job;
  }

  /** The job that was submitted with an Idempotency-Key; null when it no longer exists. */
  async findByKey(accountId: string, key: string): Promise<JobDocument | null> {
    const job = await this.#context.jobs.findByKey(accountId, key);
    return job?.shown === 1 ? this.cleanUpIfEnded(job) : null;
  }

  /** @throws ApiError job_not_found */
  async find(accountId: string, jobId: string): Promise<JobDocument> {
    const job = await this.#context.jobs.find(accountId, jobId);
    if (job === null) throw jobNotFoundError(jobId);
    return this.cleanUpIfEnded(job);
  }

  /** Every stored attempt of a job, the first one first. */
  async findAttempts({ accountId, rootJobId }: JobDocument): Promise<JobDocument[]> {
    const attempts = await this.#context.jobs.findAttempts(accountId, rootJobId);
    attempts.sort((one, other) => one.attemptNumber - other.attemptNumber);
    return Promise.all(attempts.map((job) => this.cleanUpIfEnded(job)));
  }

  /**
   * Finds a job whose items are about to be selected by status. Items with a counted outcome are given their final
   * status first.
   * @throws ApiError job_not_found
   */
  async findWithStatuses(accountId: string, jobId: string): Promise<JobDocument> {
    const job = await this.find(accountId, jobId);
    // In an ended job, the items already have their final status.
    if (job.phase === 'open') await this.#options.outcomes.finalizeItems(job);
    return job;
  }

  /**
   * A job as a caller sees it, with the requested parts.
   * @throws the error of `onLong`.
   */
  async view(job: JobDocument, view: JobView, onLong?: OnLongRead): Promise<Partial<Job>> {
    if (isSummaryView(view)) return selectJobFields(jobSummaryOf(job), view);
    const definition = await this.#context.definitions.find(job._id);
    const items = await this.#firstItems(job, view.maxItems, definition, onLong);
    return selectJobFields(jobDataOf(job, definition, items), view);
  }

  /**
   * The first items of a job. Items with a row or an output may be long. They are read in parts, because one large
   * message from the store would block the event loop.
   */
  async #firstItems(
    { _id: jobId, accountId }: JobDocument,
    limit: number,
    { takes, produces }: JobDefinition,
    onLong?: OnLongRead,
  ): Promise<ItemDocument[]> {
    if (limit === 0) return [];
    const areShort = takes !== 'rows' && produces === 'image';
    if (areShort) return this.#context.items.findFirst(jobId, limit);
    return collectParts(accountId, this.#readFirstItems(jobId, limit), onLong);
  }

  async *#readFirstItems(jobId: string, limit: number): AsyncGenerator<ItemDocument[]> {
    let left = limit;
    for await (const part of this.#context.items.readBatches(jobId, null, Math.min(limit, ROWS_PER_READ))) {
      yield part.slice(0, left);
      left -= part.length;
      if (left <= 0) return;
    }
  }

  /** Lists one page of jobs, newest first. */
  async list(accountId: string, filters: JobFilters, query: PagingQuery): Promise<ListPage<JobDocument>> {
    const page = await this.#context.jobs.list(accountId, filters, query);
    await Promise.all(page.rows.map((job) => this.cleanUpIfEnded(job)));
    return page;
  }

  async countByStatus(accountId: string, filters: JobFilters): Promise<JobCount[]> {
    const rows = await this.#context.jobs.countByStatus(accountId, filters);
    await this.#cleanUpIfAnyEnded(accountId, rows);
    const counts = new Map<string, JobCount>();
    for (const { status, type, count } of rows) {
      const key = `${status}/${type}`;
      counts.set(key, { status, type, count: (counts.get(key)?.count ?? 0) + count });
    }
    return [...counts.values()];
  }

  /** The usage of jobs in a time window. A job counts at the time when it was submitted. */
  readonly readUsage: UsageSource = async (accountId, { from, to, groupBy }) => {
    const window = { from: from.toISOString(), to: to.toISOString() };
    const rows = await this.#context.jobs.sumUsage(accountId, window, USAGE_GROUP_FIELDS[groupBy]);
    await this.#cleanUpIfAnyEnded(accountId, rows);
    return rows.map(({ key, jobs, credits, items }) => ({
      key: String(key ?? CONSOLE_USAGE_KEY),
      jobs: Number(jobs),
      credits: Number(credits),
      items: Number(items),
    }));
  };

  /** How often presets ran in jobs, and when each last did. */
  readonly readPresetUsage: ReadPresetUsage = async (accountId, presetIds) => {
    const { jobs } = this.#context;
    const rows = await jobs.countRuns(accountId, presetIds);
    const usages = rows.map(async ({ presetId, runs }) => {
      const id = String(presetId);
      const lastRunAt = await jobs.findLastRun(accountId, id);
      return [id, { runs: Number(runs), ...withoutAbsentFields({ lastRunAt }) }] as const;
    });
    return new Map(await Promise.all(usages));
  };

  /** Cleans up the ended jobs of an account, if `rows` counts any in the phase `ended`. */
  async #cleanUpIfAnyEnded(accountId: string, rows: ReadonlyArray<Record<string, unknown>>): Promise<void> {
    if (!rows.some(({ phase }) => phase === 'ended')) return;
    const ended = await this.#context.jobs.findEnded(accountId);
    await Promise.all(ended.map((job) => this.#options.completion.cleanUp(job)));
  }
}
