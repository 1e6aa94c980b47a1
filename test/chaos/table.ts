import type { JobStatus, OutcomeStatus } from '../../src/product/jobs/job.ts';
import { AccountModel, type Resources } from './resources.ts';

/** The rules of the interface that the table below leans on. */
const RUNNING_AT_ONCE = 2;
const MAX_RESUMES = 5;
const MAX_TRIES = 3;
const MAX_LAPSES = 5;
/** How long a record is kept. */
const LIFE_DAYS = 7;

/** The end of an item that runs: it is done, refused for good, fails for good by our fault, or is put off. */
export type Fate = 'done' | 'refused' | 'ours' | 'put off';

/** An item: final, or where it stands. An `orphan` is claimed by a process that died. */
export interface ModelItem {
  at: 'ready' | 'later' | 'running' | 'orphan' | OutcomeStatus;
  tries: number;
  lapses: number;
  /** Whether its run is paid for. */
  isPaid: boolean;
}

export interface ModelJob {
  id: string;
  status: JobStatus;
  attempt: number;
  rootId: string;
  parentId: string | undefined;
  isResumed: boolean;
  bornDay: number;
  /** Past its record's end: the account sees it no more. */
  isExpired: boolean;
  items: ModelItem[];
}

/** How the interface answers a call. Of several codes, each is right. */
export type ExpectedAnswer = { code: string | string[]; details?: object } | 'accepted';

const isOpen = ({ at }: ModelItem) => ['ready', 'later', 'running', 'orphan'].includes(at);
const isClaimed = ({ at }: ModelItem) => at === 'running' || at === 'orphan';

/**
 * The state tables of the interface, as a model: jobs and items, and how each call and each event changes them.
 * It knows nothing of documents, queues or processes but that an item can be claimed by a dead one.
 */
export class StateTable {
  jobs: ModelJob[] = [];
  readonly account: AccountModel;
  #day = 0;

  constructor(resources: Resources) {
    this.account = new AccountModel(resources);
  }

  expectSubmit(total: number, month: string): ExpectedAnswer {
    const code = this.account.refusals(total, month);
    if (!code.includes('asset_count_exceeded')) this.account.beginMonth(month);
    return code.length === 0 ? 'accepted' : { code };
  }

  /** A new job: it runs when one of the two slots is free, and else waits. */
  add(id: string, total: number, { month, parent }: { month: string; parent?: ModelJob }): void {
    this.account.hold(id, total, month);
    const items = Array.from({ length: total }, (): ModelItem => {
      return { at: 'ready', tries: 0, lapses: 0, isPaid: false };
    });
    if (parent !== undefined) parent.isResumed = true;
    this.jobs.push({
      ...{ id, status: 'PENDING', items, isResumed: false, bornDay: this.#day, isExpired: false },
      attempt: (parent?.attempt ?? 0) + 1,
      rootId: parent?.rootId ?? id,
      parentId: parent?.id,
    });
    this.#proceed();
  }

  expectCancel({ status, isExpired }: ModelJob): ExpectedAnswer {
    if (isExpired) return { code: 'job_not_found' };
    if (status === 'PENDING' || status === 'PROCESSING') return 'accepted';
    return { code: 'invalid_state', details: { status } };
  }

  /** Items that were not handed out are cancelled; running ones may finish. */
  cancel(job: ModelJob): void {
    job.status = 'CANCELLING';
    this.#proceed();
  }

  expectResume(job: ModelJob, month: string): ExpectedAnswer {
    const { status, isExpired, isResumed, attempt, items } = job;
    if (isExpired) return { code: 'job_not_found' };
    if (status !== 'FAILED' && status !== 'CANCELLED') return { code: 'invalid_state', details: { status } };
    const refused = (reason: string) => {
      return { code: 'job_not_resumable', details: { reason, job: { maxResumes: MAX_RESUMES } } };
    };
    if (isResumed) return refused('NOT_LATEST_ATTEMPT');
    if (attempt > MAX_RESUMES) return refused('RESUME_LIMIT_EXCEEDED');
    if (items.every(({ at }) => at === 'COMPLETED')) return { code: 'invalid_state', details: { status } };
    return this.expectSubmit(this.leftOf(job), month);
  }

  /** How many items an attempt after this one has. */
  leftOf({ items }: ModelJob): number {
    return items.filter(({ at }) => at === 'FAILED' || at === 'CANCELLED').length;
  }

  /** Items that the living process works on, as indexes in their jobs. */
  running(): Array<{ job: ModelJob; index: number }> {
    return this.jobs.flatMap((job) =>
      job.items.flatMap(({ at }, index) => (at === 'running' ? [{ job, index }] : [])),
    );
  }

  settle(job: ModelJob, index: number, fate: Fate): void {
    const item = job.items[index] as ModelItem;
    if (fate === 'put off') {
      item.tries += 1;
      item.at = item.tries >= MAX_TRIES ? 'FAILED' : 'later';
    } else {
      item.at = fate === 'done' ? 'COMPLETED' : 'FAILED';
      item.isPaid = fate !== 'ours';
    }
    this.#proceed();
  }

  /** Pauses between tries are over. */
  promote(): void {
    for (const item of this.#items()) if (item.at === 'later') item.at = 'ready';
    this.#proceed();
  }

  /** The process dies, with all that it has claimed; another one claims what is ready. */
  die(): void {
    for (const item of this.#items()) if (item.at === 'running') item.at = 'orphan';
  }

  /** Items of a dead process are ready again, or have failed when they were lost too often. */
  leasesEnd(): void {
    for (const item of this.#items()) {
      if (item.at !== 'orphan') continue;
      item.lapses += 1;
      item.at = item.lapses >= MAX_LAPSES ? 'FAILED' : 'ready';
    }
    this.promote();
  }

  /** Days pass. Of jobs whose records come to their end, those that are over are gone, and others go on unseen. */
  pass(days: number): void {
    this.#day += days;
    for (const job of this.jobs) job.isExpired = this.#day >= job.bornDay + LIFE_DAYS;
    this.promote();
    for (const job of this.jobs.filter(isGone)) this.account.stored -= outputsOf(job);
    this.jobs = this.jobs.filter((job) => !isGone(job));
  }

  #items(): ModelItem[] {
    return this.jobs.flatMap(({ items }) => items);
  }

  /** Makes every change that follows by itself. */
  #proceed(): void {
    for (const job of this.jobs) this.#endIfOver(job);
    for (const job of this.jobs) {
      const isFull = this.jobs.filter(takesSlot).length >= RUNNING_AT_ONCE;
      if (job.status === 'PENDING' && !isFull) job.status = 'PROCESSING';
      if (job.status !== 'PROCESSING') continue;
      for (const item of job.items) if (item.at === 'ready') item.at = 'running';
    }
  }

  #endIfOver(job: ModelJob): void {
    if (job.status === 'CANCELLING') {
      for (const item of job.items) if (isOpen(item) && !isClaimed(item)) item.at = 'CANCELLED';
      if (!job.items.some(isOpen)) this.#end(job, 'CANCELLED');
    } else if (job.status === 'PROCESSING' && !job.items.some(isOpen)) {
      this.#end(job, job.items.some(({ at }) => at === 'FAILED') ? 'FAILED' : 'COMPLETED');
    }
  }

  #end(job: ModelJob, status: JobStatus): void {
    job.status = status;
    const runs = job.items.filter(({ isPaid }) => isPaid).length;
    this.account.settle(job.id, { runs, outputs: outputsOf(job) });
  }
}

const isGone = ({ isExpired, items }: ModelJob) => isExpired && !items.some(isOpen);

function outputsOf({ items }: ModelJob): number {
  return items.filter(({ at }) => at === 'COMPLETED').length;
}

/** A job that is being cancelled with claimed items ran before, and keeps its slot until they settle. */
function takesSlot({ status }: ModelJob): boolean {
  return status === 'PROCESSING' || status === 'CANCELLING';
}
