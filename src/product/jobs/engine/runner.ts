import { type Clock, systemClock } from '../../../platform/clock.ts';
import { randomText } from '../../../platform/ids/ids.ts';
import { FairQueue } from '../../../platform/queues.ts';
import { retryThroughOutages } from '../../../platform/stores/outages.ts';
import type { JobsContext } from '../context.ts';
import type { ClaimedItem, ItemDocument, ItemOutcome, JobDocument, JobType } from '../job.ts';
import {
  type ItemRetry,
  itemRetryOf,
  type PerformItemWork,
  permanentFailureOutcome,
  type UnfinishedItemWork,
} from '../rules.ts';
import {
  ActiveJob,
  ItemPrefetch,
  type PendingClaim,
  type RunningItem,
  type WorkKind,
  workKindOf,
} from './active-job.ts';
import type { JobCompletion } from './completion.ts';
import type { JobMetrics } from './metrics.ts';
import type { OutcomeBatcher } from './outcome-batcher.ts';

/** How long a claim is valid, and how often it is renewed, in milliseconds. */
const CLAIM_LEASE_MS = 30_000;
const CLAIM_RENEWAL_INTERVAL_MS = 10_000;
/** How long a stopping process continues its work before it puts items back. */
const SHUTDOWN_WORK_MS = 8_000;
/** How long a stopping process tries to put items back into the store. If that fails, their leases expire. */
const SHUTDOWN_GIVE_BACK_MS = 2_000;
const MAX_POLLED_JOBS = 500;
/** The maximum number of items that one step makes ready again after their pauses. */
const MAX_PROMOTED_ITEMS = 2_000;
interface RunnerOptions {
  perform: PerformItemWork;
  batcher: OutcomeBatcher;
  completion: JobCompletion;
  metrics: JobMetrics;
  clock?: Clock;
}

/**
 * Claims items of running jobs, works on them, and has their outcomes recorded. Every API process has one runner.
 * Runners coordinate only through the claims in the store.
 */
export class JobRunner {
  readonly #context: JobsContext;
  readonly #options: RunnerOptions;
  readonly #clock: Clock;
  /** Identifies this runner. Each runner has a new random name, so that it is never mistaken for an earlier one. */
  readonly #owner: string;
  readonly #prefetches: Record<WorkKind, ItemPrefetch>;
  readonly #activeJobs = new Map<string, ActiveJob>();
  /**
   * The jobs in the order in which items are claimed for them. The account that was served least recently comes first;
   * of its jobs, the one that was served least recently.
   */
  readonly #queue = new FairQueue<ActiveJob>();
  /** Items that this process has claimed and whose outcomes are not recorded yet. */
  readonly #ownedItems = new Map<string, ClaimedItem>();
  readonly #abandonController = new AbortController();
  readonly #renewTimer: NodeJS.Timeout;
  #onIdle = () => {};

  constructor(context: JobsContext, options: RunnerOptions) {
    this.#context = context;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#owner = `${context.owner}/${randomText(8)}`;
    const { concurrency, maxClaimedItems } = context;
    this.#prefetches = {
      pixels: new ItemPrefetch(concurrency.pixels, maxClaimedItems),
      batches: new ItemPrefetch(concurrency.batches, maxClaimedItems),
      pages: new ItemPrefetch(concurrency.pages, maxClaimedItems),
      models: new ItemPrefetch(concurrency.models, maxClaimedItems),
    };
    this.#renewTimer = setInterval(() => this.#renewLeases(), CLAIM_RENEWAL_INTERVAL_MS);
    this.#renewTimer.unref();
  }

  /** Looks for items of a job to claim. */
  wake = (jobId: string): void => {
    this.#checkJob(jobId).catch(this.#warningLogger('A job was not checked; the sweep finds it'));
  };

  /**
   * Begins a job that was just read.
   * @returns whether the work on all of its items begins here at once. If so, other processes need no wake-up.
   */
  start(job: JobDocument): boolean {
    const { hasFreeWorker } = this.#prefetches[workKindOf(job)];
    const isWhollyClaimed = job.totalItems === 1 && hasFreeWorker && !this.#context.draining.aborted;
    this.#addJob(job);
    this.#claimMore();
    return isWhollyClaimed;
  }

  /**
   * Claims the only item of a job that is about to be stored.
   * @returns null if the work on the item could not begin at once.
   */
  claimNew = (newItem: ItemDocument, type: JobType): PendingClaim | null => {
    const prefetch = this.#prefetches[workKindOf({ type, totalItems: 1 })];
    if (!prefetch.hasFreeWorker || this.#context.draining.aborted) return null;
    const item = this.#context.items.withNewClaim(newItem, this.#owner, CLAIM_LEASE_MS);
    this.#ownedItems.set(item._id, item);
    prefetch.claimedCount += 1;
    let isOver = false;
    const begin = (job: JobDocument) => {
      isOver = true;
      // Until now, `claimedCount` counted the slot of this item. From now on, the active job counts it.
      prefetch.claimedCount -= 1;
      const activeJob = new ActiveJob(job, prefetch);
      activeJob.isExhausted = true;
      activeJob.reserve(1);
      this.#activate(activeJob);
      this.#options.metrics.claims.inc({ type }, 1);
      void this.#workOnItem(activeJob, item);
    };
    const drop = () => {
      if (isOver) return;
      isOver = true;
      prefetch.claimedCount -= 1;
      this.#disown(item);
      this.#claimMore();
    };
    return { item, begin, giveBack: () => this.#context.items.unclaim(item).finally(drop), drop };
  };

  /** Stops claiming items of a job that is being cancelled. JobCompletion cancels its unclaimed items in the store. */
  stopClaims = (jobId: string): void => {
    const activeJob = this.#activeJobs.get(jobId);
    if (activeJob === undefined) return;
    activeJob.stop();
    this.#removeIfIdle(activeJob);
  };

  /** Looks for items in every running job, in case a wake-up message was lost. */
  async pollJobs(): Promise<void> {
    if (this.#context.draining.aborted) return;
    for (const job of await this.#context.jobs.findRunning(MAX_POLLED_JOBS)) this.#addJob(job);
    this.#claimMore();
  }

  /** The number of items that this process works on, by the type of their jobs. */
  itemsAtWork(): Partial<Record<JobType, number>> {
    const counts: Partial<Record<JobType, number>> = {};
    for (const { job, claimedCount } of this.#activeJobs.values())
      counts[job.type] = (counts[job.type] ?? 0) + claimedCount;
    return counts;
  }

  /**
   * Stops the runner. Work that has begun may continue for SHUTDOWN_WORK_MS. The runner then puts all other items back,
   * for at most SHUTDOWN_GIVE_BACK_MS.
   */
  async stop(): Promise<void> {
    const { promise: idle, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    const cancelTimeout = this.#clock.after(SHUTDOWN_WORK_MS, () => {
      this.#abandonController.abort();
      resolve();
    });
    if (this.#ownedItems.size > 0) await idle;
    cancelTimeout();
    clearInterval(this.#renewTimer);
    const givenBack = Array.from(this.#ownedItems.values(), (item) =>
      this.#context.items
        .giveBack(item)
        .catch(this.#warningLogger('An item was not given back; its lease runs out')),
    );
    await waitForSettled(SHUTDOWN_GIVE_BACK_MS, givenBack, this.#clock);
  }

  /** Looks for items of a job to claim. If the job is not active in this process, it is read first. */
  async #checkJob(jobId: string): Promise<void> {
    if (this.#context.draining.aborted) return;
    const job = this.#activeJobs.get(jobId)?.job ?? (await this.#context.jobs.get(jobId));
    if (job === null || job.phase !== 'open' || job.status !== 'PROCESSING') return;
    this.#addJob(job);
    this.#claimMore();
  }

  /**
   * Adds a running job, so that its items are claimed. If the job was added before, a new search for its items begins.
   */
  #addJob(job: JobDocument): void {
    const known = this.#activeJobs.get(job._id);
    if (known === undefined) this.#activate(new ActiveJob(job, this.#prefetches[workKindOf(job)]));
    else known.wake();
  }

  #activate(activeJob: ActiveJob): void {
    const { _id, accountId } = activeJob.job;
    this.#activeJobs.set(_id, activeJob);
    this.#queue.add(accountId, activeJob);
  }

  /** Claims items as long as there are free slots and jobs with items. */
  #claimMore(): void {
    while (!this.#context.draining.aborted) {
      const next = this.#queue.next({ canServe: (activeJob) => activeJob.canClaim(performance.now()) });
      if (next === undefined) return;
      const { owner: accountId, waiter: activeJob } = next;
      this.#queue.serve(accountId, activeJob);
      this.#queue.add(accountId, activeJob);
      void this.#claim(activeJob).finally(() => this.#claimMore());
    }
  }

  #claimMoreAfter(pauseMs: number): void {
    if (pauseMs > 0) setTimeout(() => this.#claimMore(), pauseMs).unref();
  }

  /** Reserves slots, claims items of a job for them, and works on the items. */
  async #claim(activeJob: ActiveJob): Promise<void> {
    const { job, prefetch } = activeJob;
    const startedMs = performance.now();
    const count = Math.min(prefetch.batchSize, activeJob.freeSlots);
    const endClaim = activeJob.beginClaim();
    this.#claimMoreAfter(prefetch.recordClaim(startedMs));
    activeJob.reserve(count);
    let claimed: ClaimedItem[] | null = [];
    try {
      claimed = await this.#context.items.claim(job._id, count, this.#owner, CLAIM_LEASE_MS);
    } catch (error) {
      this.#warningLogger('Items could not be claimed')(error);
      this.#pauseClaims(prefetch, startedMs);
    }
    // A claim that took every item of the job leaves none to claim.
    endClaim(claimed === null || claimed.length === job.totalItems);
    const items = claimed ?? [];
    activeJob.reserve(items.length - count);
    if (items.length > 0) this.#options.metrics.claims.inc({ type: job.type }, items.length);
    for (const item of items) void this.#workOnItem(activeJob, item);
    this.#removeIfIdle(activeJob);
  }

  /** Pauses claiming for this kind of work, because a store that its items need is unavailable. */
  #pauseClaims(prefetch: ItemPrefetch, startedMs: number): void {
    this.#claimMoreAfter(prefetch.recordOutage(startedMs, performance.now()));
  }

  /** Works on an item in a reserved slot, until this process has nothing more to do with the item. */
  async #workOnItem(activeJob: ActiveJob, item: ClaimedItem): Promise<void> {
    const slot = activeJob.takeSlot(() => {
      this.#removeIfIdle(activeJob);
      this.#claimMore();
    });
    this.#ownedItems.set(item._id, item);
    await this.#workAndRecord(activeJob, { job: activeJob.job, item, slot });
    this.#disown(item);
    slot.release();
  }

  /**
   * Works on an item and records its outcome. If an error prevents the recording, the item's lease expires, and another
   * process takes the item.
   */
  async #workAndRecord({ prefetch, waitSignal }: ActiveJob, work: RunningItem): Promise<void> {
    const { job, item } = work;
    const { signal } = this.#abandonController;
    const startedMs = performance.now();
    try {
      const result = await this.#options.perform(item, job, { signal, waitSignal });
      prefetch.recordWork(startedMs, performance.now());
      if ('outage' in result) this.#pauseClaims(prefetch, startedMs);
      else if (prefetch.recordStoreReached()) void this.#endStoreWaits();
      if ('outcome' in result) await this.#record(work, result.outcome);
      else if (signal.aborted) await this.#context.items.giveBack(item);
      else await this.#retryOrFail(work, result);
    } catch (error) {
      this.#warningLogger('An item was left for its lease to run out')(error);
    }
  }

  /** Has an outcome recorded. If the claim was lost, the output is discarded. */
  async #record(work: RunningItem, outcome: ItemOutcome): Promise<void> {
    const { job } = work;
    if (await this.#options.batcher.record({ ...work, outcome, signal: this.#abandonController.signal }))
      return;
    this.#options.metrics.lost.inc({ type: job.type });
    if (outcome.resultAssetId !== undefined)
      await this.#context.assets.outputs.discard(job.accountId, outcome.resultAssetId);
  }

  /** Puts an item without an outcome back if a retry may succeed. Otherwise, it fails. */
  async #retryOrFail(work: RunningItem, result: UnfinishedItemWork): Promise<void> {
    const { job, item } = work;
    const { metrics } = this.#options;
    if ('outage' in result)
      this.#warningLogger('A store was away for an item, which waits for it')(result.outage);
    const retry = itemRetryOf(result, item);
    if (retry !== null) {
      const { counter, pauseMs, error } = retry;
      if (counter === 'waits') metrics.waits.inc({ type: job.type });
      if (counter === 'tries') {
        metrics.retries.inc({ type: job.type });
        const facts = { item: item._id, tries: item.tries, pauseMs, code: error?.code };
        this.#context.log.debug?.(facts, 'An item is tried again');
      }
      await this.#retryLater(item, retry);
    } else if ('failure' in result)
      await this.#record(work, permanentFailureOutcome(result.failure, item, this.#context.now()));
  }

  /** Puts an item back. It is tried again after a pause, or cancelled if its job is being cancelled. */
  async #retryLater(item: ClaimedItem, { pauseMs, counter, error }: ItemRetry): Promise<void> {
    const { items, now } = this.#context;
    const notBefore = () => new Date(now().getTime() + pauseMs);
    const putBack = () => items.retryLater(item, notBefore(), counter, error);
    await retryThroughOutages(putBack, this.#abandonController.signal);
    setTimeout(() => void this.#promoteRetries(), pauseMs).unref();
    await this.#options.completion.completeIfCancelled(item.jobId);
  }

  /** Makes items ready again whose pauses have ended, whichever process put them back, and claims some of them. */
  async #promoteRetries(): Promise<void> {
    try {
      const { jobIds } = await this.#context.items.promote(MAX_PROMOTED_ITEMS);
      for (const jobId of jobIds) await this.#checkJob(jobId);
    } catch (error) {
      this.#warningLogger('Items that wait to be tried again are left for the sweep')(error);
    }
  }

  /** Ends the pauses of items that wait for a store, because the stores respond again. */
  async #endStoreWaits(): Promise<void> {
    const { items } = this.#context;
    await items
      .endStoreWaits()
      .catch(this.#warningLogger('Items that wait for a store wait out their pauses'));
    await this.#promoteRetries();
  }

  /** Removes a job that has no items to claim. If it gets some later, it is added again. */
  #removeIfIdle(activeJob: ActiveJob): void {
    const { _id, accountId } = activeJob.job;
    if (!activeJob.isIdle || this.#activeJobs.get(_id) !== activeJob) return;
    this.#activeJobs.delete(_id);
    this.#queue.remove(accountId, activeJob);
  }

  #disown(item: ClaimedItem): void {
    this.#ownedItems.delete(item._id);
    if (this.#ownedItems.size === 0) this.#onIdle();
  }

  #renewLeases(): void {
    const { items } = this.#context;
    const ids = [...this.#ownedItems.keys()];
    if (ids.length === 0) return;
    items
      .renew(this.#owner, ids, CLAIM_LEASE_MS)
      .catch(this.#warningLogger('Leases of items were not renewed'));
  }

  #warningLogger(message: string): (error: unknown) => void {
    return (error) => this.#context.log.warn({ err: error }, message);
  }
}

/** Waits until all promises have settled, but at most `limitMs`. */
async function waitForSettled(
  limitMs: number,
  steps: ReadonlyArray<Promise<unknown>>,
  clock: Clock,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancelTimeout = clock.after(limitMs, resolve);
  await Promise.race([Promise.all(steps), late]);
  cancelTimeout();
}
