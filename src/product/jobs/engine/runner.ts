import { type Clock, systemClock } from '../../../platform/clock.ts';
import { randomText } from '../../../platform/ids/ids.ts';
import { FairQueue } from '../../../platform/queues/fair-queue.ts';
import { throughOutages } from '../../../platform/stores/outages.ts';
import {
  type Claimed,
  type ItemDocument,
  JOB_TYPES,
  type JobDocument,
  type JobType,
  type Outcome,
} from '../job.ts';
import { type FailedWork, failed, isForgiven, retryAfterMs, waitMs } from '../rules.ts';
import { ActiveJob, type ItemSlot, type WorkKind, workKindOf } from './active-job.ts';
import type { JobMetrics } from './metrics.ts';
import type { EngineOptions } from './options.ts';
import type { OutcomeBatcher } from './outcome-batcher.ts';
import type { Preclaim } from './preclaim.ts';
import { Prefetch } from './prefetch.ts';

interface RunnerOptions
  extends Pick<
    EngineOptions,
    'jobs' | 'items' | 'assets' | 'perform' | 'owner' | 'widths' | 'draining' | 'now' | 'log'
  > {
  batcher: OutcomeBatcher;
  metrics: JobMetrics;
  clock?: Clock;
}

/**
 * Claims items of running jobs, works on them and has their outcomes recorded. One runs in every API process; each
 * knows of the others by the items that are claimed already.
 */
export interface Runner {
  /** Checks a job that may have items to claim. */
  wake(jobId: string): void;
  /**
   * Takes up a job that was just read.
   * @returns whether all of it is begun here at once, so that other processes need no wake-up.
   */
  start(job: JobDocument): boolean;
  /**
   * Claims the only item of a job that is about to be stored.
   * @returns null where it would not be worked on at once.
   */
  preclaim(item: ItemDocument, type: JobType): Preclaim | null;
  /** Claims no more items of a job that is being cancelled, while its waiting items are cancelled step by step. */
  stopClaims(jobId: string): void;
  /** Polls every running job, for wake-ups that were lost. */
  pollJobs(): Promise<void>;
  /** Items at work here, by the type of their jobs. */
  itemsAtWork(): Record<string, number>;
  /** Lets work under way end for some seconds, and gives the rest back to others, for 2 s at most. */
  stop(): Promise<void>;
}

/** How long a claim is good, and how often it is renewed. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** How long work goes on once its process ends, before it is given back. */
const FINISH_MS = 8_000;
/** How long a stopping process waits for the store to take items back. Their leases run out by themselves. */
const GIVE_BACK_MS = 2_000;
const MAX_JOBS = 500;
/** Items at a time whose pauses have ended. */
const MAX_PROMOTED = 2_000;

export function createRunner(options: RunnerOptions): Runner {
  const { jobs, items, assets, batcher, perform, widths, draining, metrics, now, log } = options;
  const { clock = systemClock } = options;
  const owner = `${options.owner}/${randomText(8)}`;
  const prefetches: Record<WorkKind, Prefetch> = {
    pixels: new Prefetch(widths.pixels),
    batches: new Prefetch(widths.batches),
    pages: new Prefetch(widths.pages),
    models: new Prefetch(widths.models),
  };
  const active = new Map<string, ActiveJob>();
  /** The account that was served least recently is next, with its job that was served least recently. */
  const queue = new FairQueue<ActiveJob>();
  /** Items that this process has claimed, until their outcome is recorded. */
  const owned = new Map<string, Claimed>();
  const abandoning = new AbortController();
  let onIdle = () => {};

  const renewing = setInterval(() => {
    if (owned.size === 0) return;
    items.renew(owner, [...owned.keys()], LEASE_MS).catch(warn('Leases of items were not renewed'));
  }, RENEW_MS);
  renewing.unref();

  function warn(message: string): (error: unknown) => void {
    return (error) => log.warn({ err: error }, message);
  }

  function activate(activeJob: ActiveJob): void {
    const { _id, accountId } = activeJob.job;
    active.set(_id, activeJob);
    queue.add(accountId, activeJob);
  }

  /** Forgets a job that has nothing to claim; it is found again when it has. */
  function forgetIfIdle(activeJob: ActiveJob): void {
    const { _id, accountId } = activeJob.job;
    if (!activeJob.isIdle || active.get(_id) !== activeJob) return;
    active.delete(_id);
    queue.remove(accountId, activeJob);
  }

  /** Claims for as long as there are both room and work. */
  function claimMore(): void {
    while (!draining.aborted) {
      const next = queue.next({ canServe: (activeJob) => activeJob.canClaim(performance.now()) });
      if (next === undefined) return;
      const { owner: accountId, waiter: activeJob } = next;
      queue.serve(accountId, activeJob);
      queue.add(accountId, activeJob);
      void claim(activeJob).finally(claimMore);
    }
  }

  function claimMoreAfter(pauseMs: number): void {
    if (pauseMs > 0) setTimeout(claimMore, pauseMs).unref();
  }

  async function claim(activeJob: ActiveJob): Promise<void> {
    const { job, prefetch } = activeJob;
    const startedMs = performance.now();
    const count = Math.min(prefetch.batch, activeJob.room);
    const endClaim = activeJob.beginClaim();
    claimMoreAfter(prefetch.begin(startedMs));
    activeJob.reserve(count);
    let claimed: Claimed[] | null = [];
    try {
      claimed = await items.claim(job._id, count, owner, LEASE_MS);
    } catch (error) {
      warn('Items could not be claimed')(error);
      pauseClaims(prefetch, startedMs);
    }
    // After a claim of all items there is nothing more to claim.
    endClaim(claimed === null || claimed.length === job.totalItems);
    const taken = claimed ?? [];
    activeJob.reserve(taken.length - count);
    if (taken.length > 0) metrics.claims.inc({ type: job.type }, taken.length);
    for (const item of taken) void work(activeJob, item);
    forgetIfIdle(activeJob);
  }

  /** Claims no more of this kind for a while: a store is away that its items need. */
  function pauseClaims(prefetch: Prefetch, startedMs: number): void {
    claimMoreAfter(prefetch.pause(startedMs, performance.now()));
  }

  /** Works on an item whose slot is reserved, until nothing is left to do for it here. */
  async function work(activeJob: ActiveJob, item: Claimed): Promise<void> {
    const slot = activeJob.slot(() => {
      forgetIfIdle(activeJob);
      claimMore();
    });
    owned.set(item._id, item);
    await attempt(activeJob, item, slot);
    disown(item);
    slot.release();
  }

  function disown(item: Claimed): void {
    owned.delete(item._id);
    if (owned.size === 0) onIdle();
  }

  /** Works on an item and records its outcome. After any error, its lease runs out and another process takes it. */
  async function attempt({ job, prefetch }: ActiveJob, item: Claimed, slot: ItemSlot): Promise<void> {
    const startedMs = performance.now();
    try {
      const result = await perform(item, job, abandoning.signal);
      prefetch.took(startedMs, performance.now());
      if ('outage' in result) pauseClaims(prefetch, startedMs);
      else if (prefetch.reached()) void endWaits();
      if ('outcome' in result) await record(job, item, result.outcome, slot);
      else if (abandoning.signal.aborted) await items.giveBack(item);
      else if ('failure' in result) await fail(job, item, result.failure, slot);
      else if ('outage' in result) await waitOut(job, item, result.outage);
      else await retryLater(item, result.putBackMs, null);
    } catch (error) {
      warn('An item was left for its lease to run out')(error);
    }
  }

  async function record(job: JobDocument, item: Claimed, outcome: Outcome, slot: ItemSlot): Promise<void> {
    const { signal } = abandoning;
    const isOurs = await batcher.record({ job, item, outcome, slot, signal });
    if (isOurs) return;
    metrics.lost.inc({ type: job.type });
    if (outcome.resultAssetId !== undefined)
      await assets.outputs.discard(job.accountId, outcome.resultAssetId);
  }

  async function fail(job: JobDocument, item: Claimed, failure: FailedWork, slot: ItemSlot): Promise<void> {
    if (isForgiven(failure, item)) {
      metrics.waits.inc({ type: job.type });
      return retryLater(item, waitMs(item), 'waits');
    }
    const pauseMs = retryAfterMs(failure, item.tries);
    if (pauseMs === null) return record(job, item, failed(failure, item, now()), slot);
    metrics.retries.inc({ type: job.type });
    const { code } = failure;
    log.debug?.({ item: item._id, tries: item.tries, pauseMs, code }, 'An item is tried again');
    await retryLater(item, pauseMs, 'tries');
  }

  async function waitOut(job: JobDocument, item: Claimed, cause: unknown): Promise<void> {
    metrics.waits.inc({ type: job.type });
    warn('A store was away for an item, which waits for it')(cause);
    await retryLater(item, waitMs(item), 'waits');
  }

  async function retryLater(
    item: Claimed,
    pauseMs: number,
    counted: 'tries' | 'waits' | null,
  ): Promise<void> {
    const notBefore = () => new Date(now().getTime() + pauseMs);
    await throughOutages(() => items.retryLater(item, notBefore(), counted), abandoning.signal);
    setTimeout(() => void wakeRetried(), pauseMs).unref();
    await batcher.completeIfCancelled(item.jobId);
  }

  /** The stores answer again: items that wait for them need not wait out their pauses. */
  async function endWaits(): Promise<void> {
    await items.endWaits().catch(warn('Items that wait for a store wait out their pauses'));
    await wakeRetried();
  }

  async function wakeRetried(): Promise<void> {
    try {
      const { jobIds } = await items.promote(MAX_PROMOTED);
      for (const jobId of jobIds) await checkJob(jobId);
    } catch (error) {
      warn('Items that wait to be tried again are left for the sweep')(error);
    }
  }

  function add(job: JobDocument): void {
    const known = active.get(job._id);
    if (known === undefined) activate(new ActiveJob(job, prefetches[workKindOf(job)]));
    else known.wake();
  }

  async function checkJob(jobId: string): Promise<void> {
    if (draining.aborted) return;
    const job = active.get(jobId)?.job ?? (await jobs.get(jobId));
    if (job === null || job.phase !== 'open' || job.status !== 'PROCESSING') return;
    add(job);
    claimMore();
  }

  return {
    wake: (jobId) => void checkJob(jobId).catch(warn('A job was not checked; the sweep finds it')),

    start(job) {
      const isAllOurs = job.totalItems === 1 && prefetches[workKindOf(job)].isIdle && !draining.aborted;
      add(job);
      claimMore();
      return isAllOurs;
    },

    preclaim(newItem, type) {
      const prefetch = prefetches[workKindOf({ type, totalItems: 1 })];
      if (!prefetch.isIdle || draining.aborted) return null;
      const item = items.claimed(newItem, owner, LEASE_MS);
      owned.set(item._id, item);
      prefetch.claimed += 1;
      let isOver = false;

      function drop(): void {
        if (isOver) return;
        isOver = true;
        prefetch.claimed -= 1;
        disown(item);
        claimMore();
      }

      return {
        item,
        begin(job) {
          isOver = true;
          prefetch.claimed -= 1;
          const activeJob = new ActiveJob(job, prefetch);
          activeJob.isExhausted = true;
          activeJob.reserve(1);
          activate(activeJob);
          metrics.claims.inc({ type }, 1);
          void work(activeJob, item);
        },
        giveBack: () => items.unclaim(item).finally(drop),
        drop,
      };
    },

    stopClaims(jobId) {
      const activeJob = active.get(jobId);
      if (activeJob === undefined) return;
      activeJob.isCancelling = true;
      forgetIfIdle(activeJob);
    },

    async pollJobs() {
      if (draining.aborted) return;
      for (const job of await jobs.running(MAX_JOBS)) add(job);
      claimMore();
    },

    itemsAtWork() {
      const counts = Object.fromEntries(JOB_TYPES.map((type) => [type, 0]));
      for (const { job, claimed } of active.values()) counts[job.type] = (counts[job.type] ?? 0) + claimed;
      return counts;
    },

    async stop() {
      const { promise: idle, resolve } = Promise.withResolvers<void>();
      onIdle = resolve;
      const cancelTimeout = clock.after(FINISH_MS, () => {
        abandoning.abort();
        resolve();
      });
      if (owned.size > 0) await idle;
      cancelTimeout();
      clearInterval(renewing);
      const givenBack = Array.from(owned.values(), (item) =>
        items.giveBack(item).catch(warn('An item was not given back; its lease runs out')),
      );
      await settledWithin(GIVE_BACK_MS, givenBack, clock);
    },
  };
}

/** Waits until the steps have ended, at most `limitMs`. */
async function settledWithin(
  limitMs: number,
  steps: ReadonlyArray<Promise<unknown>>,
  clock: Clock,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancelTimeout = clock.after(limitMs, resolve);
  await Promise.race([Promise.all(steps), late]);
  cancelTimeout();
}
