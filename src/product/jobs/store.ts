import { type ListPage, type PagingQuery, readListPage } from '../../platform/http/lists.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentStore,
  type DocumentUpdate,
  DuplicateKeyError,
  type IndexSpec,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import {
  type EndedJob,
  hasEnded,
  type JobDocument,
  type JobInPhase,
  type JobType,
  MAX_RUNNING_JOBS_PER_TYPE,
} from './job.ts';
import { JOB_TRANSITIONS, transitionFilter, transitionUpdate } from './transitions.ts';

/**
 * An index for listings. The fields for which a query has fixed values come first, then the id (newest first), then the
 * expiry. A count therefore reads only the index.
 */
const listingIndex = (name: string, ...equal: string[]): IndexSpec => ({
  name,
  fields: sortBy('accountId', 'shown', ...equal, '-_id', 'expiresAt'),
});

/** The indexes of the jobs. There is one for each filter of the listing, so that counts read only an index. */
const JOB_INDEXES: readonly IndexSpec[] = [
  listingIndex('newest'),
  listingIndex('status', 'status'),
  listingIndex('type', 'type'),
  listingIndex('op', 'op'),
  listingIndex('preset', 'presetId', 'presetVersion'),
  listingIndex('root', 'rootJobId'),
  { name: 'created', fields: sortBy('accountId', 'shown', 'createdAt', 'expiresAt') },
  { name: 'counts', fields: sortBy('accountId', 'shown', 'status', 'type', 'phase', 'expiresAt') },
  { name: 'waiting', fields: sortBy('status', 'phase', 'accountId', 'type', '_id') },
  { name: 'phase', fields: sortBy('phase', 'phaseAt') },
  { name: 'expiresAt', fields: sortBy('expiresAt') },
  { name: 'kept', fields: sortBy('accountId', 'keptBytes'), whenPresent: ['keptBytes'] },
  // The slot of a running job, the attempt that is resumed, and the Idempotency-Key are unique.
  { name: 'slot', fields: sortBy('slot'), unique: true, whenPresent: ['slot'] },
  { name: 'parent', fields: sortBy('parentJobId'), unique: true, whenPresent: ['parentJobId'] },
  {
    name: 'idempotency',
    fields: sortBy('accountId', 'idempotencyKey'),
    unique: true,
    whenPresent: ['idempotencyKey'],
  },
];

/**
 * The longest time that a submit can take. A job that is still hidden at this age was left by a dead process, and the
 * sweep undoes it.
 */
export const MAX_SUBMIT_MS = 5 * 60_000;
/** How long the last writes of a process may still take to reach the store after its death. */
const MAX_LATE_WRITE_MS = 5_000;

export const JOBS_COLLECTION: DeclaredCollection = {
  name: 'jobs',
  indexes: JOB_INDEXES,
  onAccountDeletion: 'keep',
};

const UNFINISHED = { phase: 'open', status: { $in: ['PENDING', 'PROCESSING', 'CANCELLING'] } };

/** The filters of a listing of jobs, after their validation. */
export interface JobFilters
  extends Partial<Record<'status' | 'type' | 'op' | 'presetId' | 'rootJobId', string | undefined>> {
  presetVersion?: number | undefined;
  createdFrom?: string | undefined;
  createdTo?: string | undefined;
}

/**
 * The store of jobs. Methods for callers take the account first and return only its jobs. Methods for the engine take a
 * job.
 */
export class JobsStore {
  readonly #jobs: DocumentCollection<JobDocument>;
  readonly #now: () => Date;

  constructor(documents: DocumentStore, now: () => Date) {
    this.#jobs = documents.collection(JOBS_COLLECTION);
    this.#now = now;
  }

  /** A job that its account may see: it is visible and has not expired. */
  async find(accountId: string, jobId: string): Promise<JobDocument | null> {
    return this.#jobs.findOne({ _id: jobId, ...this.#visibleFilter(accountId) });
  }

  /** The job that was submitted with an Idempotency-Key, visible or not. */
  async findByKey(accountId: string, idempotencyKey: string): Promise<JobDocument | null> {
    return this.#jobs.findOne({ accountId, idempotencyKey });
  }

  /**
   * The stored bytes of the account's large jobs. They are summed up on demand, so that no crash can make the sum
   * wrong.
   */
  async sumKeptBytes(accountId: string): Promise<number> {
    const [row] = await this.#jobs.group({
      filter: { accountId, keptBytes: { $gt: 0 } },
      by: { accountId: 'accountId' },
      sums: { bytes: 'keptBytes' },
    });
    return Number(row?.bytes ?? 0);
  }

  /** Removes the Idempotency-Key of a job, once its day is over. */
  async forgetKey(accountId: string, jobId: string): Promise<void> {
    await this.#jobs.updateOne({ _id: jobId, accountId }, { $unset: { idempotencyKey: '' } });
  }

  /** Every attempt of a job, in no particular order. There are few, because MAX_RESUMES limits them. */
  async findAttempts(accountId: string, rootJobId: string): Promise<JobDocument[]> {
    return this.#jobs.find(this.#listingFilter(accountId, { rootJobId }));
  }

  /** The attempt that resumes a job, even if it is hidden. */
  async findChild(accountId: string, parentJobId: string): Promise<JobDocument | null> {
    return this.#jobs.findOne({ accountId, parentJobId });
  }

  /** Lists one page of jobs, newest first. */
  async list(accountId: string, filters: JobFilters, query: PagingQuery): Promise<ListPage<JobDocument>> {
    const listing = { name: 'jobs', accountId, filters: { ...filters }, sort: sortBy('-_id') };
    return readListPage(this.#jobs, this.#listingFilter(accountId, filters), listing, query);
  }

  /** The number of jobs by status, type and phase. */
  async countByStatus(accountId: string, filters: JobFilters) {
    const rows = await this.#jobs.group({
      filter: this.#listingFilter(accountId, filters),
      by: { status: 'status', type: 'type', phase: 'phase' },
      sums: { count: 1 },
    });
    return rows as unknown as Array<Pick<JobDocument, 'status' | 'type' | 'phase'> & { count: number }>;
  }

  /** The ended jobs of an account that are not cleaned up yet. */
  async findEnded(accountId: string): Promise<EndedJob[]> {
    return (await this.#jobs.find({ ...this.#visibleFilter(accountId), phase: 'ended' })) as EndedJob[];
  }

  /** The usage of the jobs that were created in a window, summed by one of their fields and by phase. */
  async sumUsage(
    accountId: string,
    window: { from: string; to: string },
    by: 'usageKey' | 'apiKeyId' | 'day',
  ) {
    return this.#jobs.group({
      filter: { ...this.#visibleFilter(accountId), createdAt: { $gte: window.from, $lt: window.to } },
      by: { key: by, phase: 'phase' },
      sums: { jobs: 1, credits: 'chargedCredits', items: 'settledItems' },
    });
  }

  /** The number of jobs that ran each of these presets. */
  async countRuns(accountId: string, presetIds: readonly string[]) {
    return this.#jobs.group({
      filter: { ...this.#visibleFilter(accountId), presetId: { $in: presetIds } },
      by: { presetId: 'presetId' },
      sums: { runs: 1 },
    });
  }

  async findLastRun(accountId: string, presetId: string): Promise<string | null> {
    const filter = { ...this.#visibleFilter(accountId), presetId };
    const last = await this.#jobs.findOne(filter, { sort: sortBy('-_id'), fields: ['createdAt'] });
    return last?.createdAt ?? null;
  }

  /**
   * @throws DuplicateKeyError when the previous attempt has been resumed already, or the Idempotency-Key is used.
   */
  async insert(job: JobDocument): Promise<void> {
    await this.#jobs.insertOne(job);
  }

  /** For the engine: the job of any account, in any phase. */
  async get(jobId: string): Promise<JobDocument | null> {
    return this.#jobs.findOne({ _id: jobId });
  }

  /** Changes a job without a transition, if the fields of `asRead` still match. Returns null otherwise. */
  async update(jobId: string, asRead: DocumentFilter, update: DocumentUpdate): Promise<JobDocument | null> {
    return this.#jobs.findOneAndUpdate({ _id: jobId, ...asRead }, update);
  }

  /**
   * Makes a transition of a job, and other changes in the same update.
   * @param asRead further fields that must not have changed since they were read.
   * @returns null when the transition cannot begin in the job's state, because another process was faster.
   */
  async move(
    jobId: string,
    transition: (typeof JOB_TRANSITIONS)[keyof typeof JOB_TRANSITIONS],
    { asRead = {}, ...changes }: DocumentUpdate & { asRead?: DocumentFilter } = {},
  ): Promise<JobDocument | null> {
    const $set = { ...('phase' in transition.to && { phaseAt: this.#now().toISOString() }), ...changes.$set };
    return this.update(
      jobId,
      { ...transitionFilter(transition), ...asRead },
      transitionUpdate(transition, { ...changes, $set }),
    );
  }

  /**
   * Stores the token under which unused quota of an ended job is returned.
   * @returns the token that counts: the first one, if several processes store one.
   */
  async keepReleaseToken(jobId: string, token: string): Promise<string> {
    await this.update(jobId, { releaseToken: null }, { $set: { releaseToken: token } });
    const job = await this.get(jobId);
    return (job !== null && hasEnded(job) && job.releaseToken) || token;
  }

  async findOldestWaiting(accountId: string, type: JobType): Promise<JobDocument | null> {
    const filter = { ...transitionFilter(JOB_TRANSITIONS.start), accountId, type };
    return this.#jobs.findOne(filter, { sort: sortBy('_id') });
  }

  /**
   * Starts a waiting job in a free slot of its account and type. Null when no slot is free, or the job has already
   * started.
   */
  async start(job: JobDocument): Promise<JobDocument | null> {
    return this.#enterFreeSlot(job, (slot) => this.move(job._id, JOB_TRANSITIONS.start, { $set: slot }));
  }

  /**
   * Makes a hidden job visible and running in one update. Null when no slot is free, or the job is no longer hidden.
   */
  async showAndStart(job: JobDocument, set: Partial<JobDocument>): Promise<JobDocument | null> {
    return this.#enterFreeSlot(job, (slot) =>
      this.move(job._id, JOB_TRANSITIONS.showAndStart, { $set: { ...set, ...slot } }),
    );
  }

  /** Tries the slots of the job's account and type one after the other, until one is free. */
  async #enterFreeSlot(
    { accountId, type }: JobDocument,
    enter: (slot: { slot: string; startedAt: string }) => Promise<JobDocument | null>,
  ): Promise<JobDocument | null> {
    const startedAt = this.#now().toISOString();
    for (let index = 0; index < MAX_RUNNING_JOBS_PER_TYPE; index += 1) {
      const slot = `${accountId}/${type}/${index}`;
      try {
        return await enter({ slot, startedAt });
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
      }
    }
    return null;
  }

  /** For the runners: jobs that may have items to claim, oldest first. */
  async findRunning(limit: number): Promise<JobDocument[]> {
    return this.#jobs.find({ status: 'PROCESSING', phase: 'open' }, { sort: sortBy('_id'), limit });
  }

  /**
   * For the sweep: running jobs in which all items ended according to the counters, and all jobs that are being
   * cancelled.
   */
  async findPossiblyComplete(limit: number): Promise<JobDocument[]> {
    const settledItems = { $add: ['$completedItems', '$failedItems'] };
    const counted = { status: 'PROCESSING', phase: 'open', $expr: { $gte: [settledItems, '$totalItems'] } };
    const [ended, cancelling] = await Promise.all([
      this.#jobs.find(counted, { limit }),
      this.#jobs.find({ status: 'CANCELLING', phase: 'open' }, { limit }),
    ]);
    return [...ended, ...cancelling];
  }

  /** For the sweep: accounts and types with waiting jobs. */
  async findWaitingGroups(): Promise<Array<{ accountId: string; type: JobType }>> {
    const rows = await this.#jobs.group({
      filter: transitionFilter(JOB_TRANSITIONS.start),
      by: { accountId: 'accountId', type: 'type' },
      sums: {},
    });
    return rows.map(({ accountId, type }) => ({
      accountId: String(accountId),
      type: String(type) as JobType,
    }));
  }

  /** For the sweep: jobs that entered their current phase before an instant. */
  async findInPhaseSince<Phase extends JobDocument['phase']>(phase: Phase, before: Date, limit: number) {
    const jobs = await this.#jobs.find({ phase, phaseAt: { $lt: before.toISOString() } }, { limit });
    return jobs as Array<JobInPhase<Phase>>;
  }

  /**
   * Makes the unfinished submits of an ended process old enough for the next sweep to undo them.
   * @param submitter the name of the process. Absent: the unfinished submits of all processes.
   */
  async expireSubmits(submitter?: string): Promise<void> {
    const phaseAt = new Date(this.#now().getTime() - MAX_SUBMIT_MS + MAX_LATE_WRITE_MS).toISOString();
    const submitting = {
      phase: { $in: ['hidden', 'undone'] },
      ...(submitter !== undefined && { submitter }),
    };
    await this.#jobs.updateMany(submitting, { $set: { phaseAt } });
  }

  /** For the sweep: finished jobs whose retention has ended. */
  async findExpired(now: Date, limit: number): Promise<JobDocument[]> {
    return this.#jobs.find({ phase: 'done', expiresAt: { $lte: now.toISOString() } }, { limit });
  }

  /** For the metrics: the number of items that have not settled, by job type. */
  async countOpenItems(): Promise<Partial<Record<JobType, number>>> {
    const rows = await this.#jobs.group({
      filter: UNFINISHED,
      by: { type: 'type' },
      sums: { total: 'totalItems', settled: 'settledItems' },
    });
    return Object.fromEntries(
      rows.map(({ type, total, settled }) => [type, Number(total) - Number(settled)]),
    );
  }

  /**
   * For the metrics: the age in seconds of the oldest unfinished job, by job type. A type without such jobs is not
   * searched for one, because the search would pass over all finished jobs.
   */
  async readOldestAges(): Promise<Partial<Record<JobType, number>>> {
    const options = { sort: sortBy('_id'), fields: ['createdAt'] };
    const ages = Object.keys(await this.countOpenItems()).map(async (type) => {
      const oldest = await this.#jobs.findOne({ ...UNFINISHED, type }, options);
      return [type, oldest === null ? 0 : (this.#now().getTime() - Date.parse(oldest.createdAt)) / 1_000];
    });
    return Object.fromEntries(await Promise.all(ages));
  }

  /** For the operator: the jobs of every account that run or wait. */
  async findUnfinished(limit: number): Promise<JobDocument[]> {
    return this.#jobs.find({ phase: 'open' }, { sort: sortBy('_id'), limit });
  }

  async erase(jobId: string): Promise<void> {
    await this.#jobs.deleteOne({ _id: jobId });
  }

  #visibleFilter(accountId: string): DocumentFilter {
    return { accountId, shown: 1, expiresAt: { $gt: this.#now().toISOString() } };
  }

  #listingFilter(accountId: string, { createdFrom, createdTo, ...equal }: JobFilters): DocumentFilter {
    const created = withoutAbsentFields({ $gte: createdFrom, $lte: createdTo });
    return {
      ...this.#visibleFilter(accountId),
      ...withoutAbsentFields(equal),
      ...(Object.keys(created).length > 0 && { createdAt: created }),
    };
  }
}
