import { randomText } from '../../names/ids.ts';
import { throughOutages } from '../../stores/outages.ts';
import type { ItemsStore } from '../items-store.ts';
import { type Claimed, type ItemDocument, JOB_TYPES, type JobDocument, type Outcome } from '../job.ts';
import { failed, isForgiven, retryAfterMs, waitMs } from '../rules.ts';
import type { JobsStore } from '../store.ts';
import type { Desk } from './desk.ts';
import { type EarlyClaim, earlyClaimOf } from './early-claim.ts';
import { canTake, type Entry, entryOf, isSpent, roomOf } from './entry.ts';
import { FairTurns } from './fair-turns.ts';
import type { FailedWork, Perform } from './item-work.ts';
import { Prefetch, type WorkKind, workKindOf } from './prefetch.ts';

export interface RunnerOptions {
  /** Names this process among all that share the stores. */
  owner: string;
  jobs: JobsStore;
  items: ItemsStore;
  desk: Desk;
  perform: Perform;
  /** Removes what was made for an item whose claim was lost. */
  discard: (accountId: string, assetId: string) => Promise<void>;
  /** Items that can be worked on at once. */
  widths: Record<WorkKind, () => number>;
  draining: AbortSignal;
  metrics: RunnerMetrics;
  now: () => Date;
  log: { warn(context: object, message: string): void };
}

/** What an operator sees of the runner, by the type of the jobs. */
export interface RunnerMetrics {
  claimed(type: string, items: number): void;
  retried(type: string): void;
  /** A store was away for an item. */
  waited(type: string): void;
  lost(type: string): void;
}

/** How long a claim is good, and how often it is renewed. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** How long work goes on once its process ends, before it is given back. */
const FINISH_MS = 8_000;
const MOST_JOBS = 500;
/** Items at a time whose pauses have ended. */
const MOST_PROMOTED = 2_000;

/**
 * Takes items of running jobs, works on them and hands their outcomes to the desk. One runs in every API process; none
 * knows of the others, but by the items that are claimed already.
 */
export function createRunner(options: RunnerOptions) {
  const { jobs, items, desk, perform, discard, draining, metrics, now, log } = options;
  const owner = `${options.owner}/${randomText(8)}`;
  const prefetches: Record<WorkKind, Prefetch> = {
    pixels: new Prefetch(options.widths.pixels),
    batches: new Prefetch(options.widths.batches),
    pages: new Prefetch(options.widths.pages),
    models: new Prefetch(options.widths.models),
  };
  const turns = new FairTurns<Entry>();
  const inHand = new Map<string, Claimed>();
  const abandoning = new AbortController();
  let idlers: Array<() => void> = [];

  const renewing = setInterval(() => {
    if (inHand.size === 0) return;
    items.renew(owner, [...inHand.keys()], LEASE_MS).catch(warn('Leases of items were not renewed'));
  }, RENEW_MS);
  renewing.unref();

  function warn(message: string): (error: unknown) => void {
    return (error) => log.warn({ err: error }, message);
  }

  /** Gives out turns for as long as there are both slots and work. */
  function pump(): void {
    while (!draining.aborted) {
      const entry = turns.next(canTake);
      if (entry === undefined) return;
      const { prefetch } = entry;
      const count = Math.min(prefetch.batch, roomOf(entry));
      void claim(entry, count).finally(pump);
    }
  }

  async function claim(entry: Entry, count: number): Promise<void> {
    const startedMs = performance.now();
    entry.isClaiming = true;
    pumpAfter(entry.prefetch.begin(startedMs));
    take(entry, count);
    let claimed: Claimed[] | null = [];
    try {
      claimed = await items.claim(entry.jobId, count, owner, LEASE_MS);
    } catch (error) {
      warn('Items could not be claimed')(error);
      claimed = [];
      rest(entry.prefetch, startedMs);
    }
    entry.isClaiming = false;
    // Who was given the whole job need not ask whether there is more.
    entry.isDry = claimed === null || claimed.length === entry.job.totalItems;
    const taken = claimed ?? [];
    take(entry, taken.length - count);
    if (taken.length > 0) metrics.claimed(entry.job.type, taken.length);
    for (const item of taken) void work(entry, item);
    forgetIfDry(entry);
  }

  /** Claims no more of this kind for a while: a store is away that its items need. */
  function rest(prefetch: Prefetch, startedMs: number): void {
    pumpAfter(prefetch.rest(startedMs, performance.now()));
  }

  function pumpAfter(restMs: number): void {
    if (restMs > 0) setTimeout(pump, restMs).unref();
  }

  function take(entry: Entry, count: number): void {
    entry.inHand += count;
    entry.prefetch.inHand += count;
  }

  /** Makes room for another item, once: an outcome that is decided needs no thread while it waits to be settled. */
  function leaver(entry: Entry): () => void {
    let isThere = true;
    return () => {
      if (!isThere) return;
      isThere = false;
      take(entry, -1);
      forgetIfDry(entry);
      pump();
    };
  }

  /** Works on an item that has its slot in the prefetch, until nothing is left to do for it here. */
  async function work(entry: Entry, item: Claimed, begun?: ReturnType<Perform>): Promise<void> {
    const leave = leaver(entry);
    inHand.set(item._id, item);
    await run(entry, item, leave, begun);
    inHand.delete(item._id);
    tellIdlers();
    leave();
  }

  function tellIdlers(): void {
    if (inHand.size > 0) return;
    for (const resolve of idlers) resolve();
    idlers = [];
  }

  /** What has nothing to claim is found again when there is something. */
  function forgetIfDry(entry: Entry): void {
    if (isSpent(entry)) turns.remove(entry.jobId);
  }

  /** Works on an item and settles it. Whatever goes wrong here, its lease runs out and another takes it. */
  async function run(
    entry: Entry,
    item: Claimed,
    leave: () => void,
    begun?: ReturnType<Perform>,
  ): Promise<void> {
    const startedMs = performance.now();
    try {
      const result = await (begun ?? perform(item, entry.job, abandoning.signal));
      entry.prefetch.took(startedMs, performance.now());
      if ('outage' in result) rest(entry.prefetch, startedMs);
      else if (entry.prefetch.reached()) void endWaits();
      if ('outcome' in result) await settle(entry, item, result.outcome, leave);
      else if (abandoning.signal.aborted) await items.giveBack(item);
      else if ('failure' in result) await fail(entry, item, result.failure, leave);
      else if ('outage' in result) await waitOut(entry, item, result.outage);
      else await later(item, result.putBackMs, null);
    } catch (error) {
      warn('An item was left for its lease to run out')(error);
    }
  }

  async function settle(entry: Entry, item: Claimed, outcome: Outcome, leave: () => void): Promise<void> {
    const { job } = entry;
    const hasMore = () => entry.inHand > 0 || entry.isClaiming;
    const isOurs = await desk.settle(job, item, outcome, {
      ...{ onDecided: leave, hasMore },
      signal: abandoning.signal,
    });
    if (isOurs) return;
    metrics.lost(job.type);
    if (outcome.resultAssetId !== undefined) await discard(job.accountId, outcome.resultAssetId);
  }

  async function fail(entry: Entry, item: Claimed, failure: FailedWork, leave: () => void): Promise<void> {
    if (isForgiven(failure, item)) {
      metrics.waited(entry.job.type);
      return later(item, waitMs(item), 'waits');
    }
    const pauseMs = retryAfterMs(failure, item.tries);
    if (pauseMs === null) return settle(entry, item, failed(failure, item, now(), failure), leave);
    metrics.retried(entry.job.type);
    await later(item, pauseMs, 'tries');
  }

  async function waitOut({ job }: Entry, item: Claimed, cause: unknown): Promise<void> {
    metrics.waited(job.type);
    warn('A store was away for an item, which waits for it')(cause);
    await later(item, waitMs(item), 'waits');
  }

  async function later(item: Claimed, pauseMs: number, counted: 'tries' | 'waits' | null): Promise<void> {
    const notBefore = () => new Date(now().getTime() + pauseMs);
    await throughOutages(() => items.retryLater(item, notBefore(), counted), abandoning.signal);
    setTimeout(() => void wakeRetried(), pauseMs).unref();
    await desk.lookAt(item.jobId);
  }

  /** The stores answer again: what waits for them need not wait out its pause. */
  async function endWaits(): Promise<void> {
    await items.endWaits().catch(warn('Items that wait for a store wait out their pauses'));
    await wakeRetried();
  }

  async function wakeRetried(): Promise<void> {
    try {
      for (const jobId of await items.promote(MOST_PROMOTED)) await wake(jobId);
    } catch (error) {
      warn('Items that wait to be tried again are left for the sweep')(error);
    }
  }

  function add(job: JobDocument): void {
    const known = turns.get(job._id);
    if (known !== undefined) {
      known.isDry = false;
      return;
    }
    turns.add(entryOf(job, prefetches));
  }

  /** Looks at a job that may have items to claim. */
  async function wake(jobId: string): Promise<void> {
    if (draining.aborted) return;
    const job = turns.get(jobId)?.job ?? (await jobs.get(jobId));
    if (job === null || job.phase !== 'open' || job.status !== 'PROCESSING') return;
    add(job);
    pump();
  }

  return {
    wake: (jobId: string) => void wake(jobId).catch(warn('A job was not looked at; the sweep finds it')),

    /**
     * Takes up a job that was just read.
     * @returns whether all of it is begun here at once, so that others need not look at it.
     */
    start(job: JobDocument): boolean {
      const isAllOurs = job.totalItems === 1 && prefetches[workKindOf(job)].isIdle && !draining.aborted;
      add(job);
      pump();
      return isAllOurs;
    },

    /**
     * Claims the only item of a job that is about to be stored.
     * @returns null where it would not be worked on at once.
     */
    claimEarly(item: ItemDocument, type: JobDocument['type']): EarlyClaim | null {
      const prefetch = prefetches[workKindOf({ type, totalItems: 1 })];
      if (!prefetch.isIdle || draining.aborted) return null;
      const claimed = items.claimed(item, owner, LEASE_MS);
      inHand.set(item._id, claimed);
      prefetch.inHand += 1;
      return earlyClaimOf(claimed, {
        prepare: (job, unwanted, shown) =>
          perform(claimed, job, AbortSignal.any([abandoning.signal, unwanted]), shown),
        work(job, prepared) {
          const entry = { ...entryOf(job, prefetches), inHand: 1, isDry: true };
          turns.add(entry);
          metrics.claimed(type, 1);
          void work(entry, claimed, prepared);
        },
        unclaim: () => items.unclaim(claimed),
        leave() {
          inHand.delete(item._id);
          prefetch.inHand -= 1;
          tellIdlers();
          pump();
        },
      });
    },

    /** Takes no more items of a job that is being cancelled, while what waits of it is stopped step by step. */
    leave(jobId: string): void {
      const entry = turns.get(jobId);
      if (entry === undefined) return;
      entry.isLeft = true;
      forgetIfDry(entry);
    },

    /** Looks at every running job, for wake-ups that were lost. */
    async lookAround(): Promise<void> {
      if (draining.aborted) return;
      for (const job of await jobs.running(MOST_JOBS)) add(job);
      pump();
    },

    /** Items at work here, by the type of their jobs. */
    inHand(): Record<string, number> {
      const counts = Object.fromEntries(JOB_TYPES.map((type) => [type, 0]));
      for (const { job, inHand: count } of turns.values()) counts[job.type] = (counts[job.type] ?? 0) + count;
      return counts;
    },

    /** Lets work under way end for some seconds, and gives the rest back to others. */
    async stop(): Promise<void> {
      const idle = new Promise<void>((resolve) => {
        if (inHand.size === 0) resolve();
        else idlers.push(resolve);
      });
      const timeout = setTimeout(() => abandoning.abort(), FINISH_MS);
      const abandoned = new Promise<void>((resolve) =>
        abandoning.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
      await Promise.race([idle, abandoned]);
      clearTimeout(timeout);
      clearInterval(renewing);
      await Promise.all(Array.from(inHand.values(), (item) => items.giveBack(item)));
    },
  };
}

export type Runner = ReturnType<typeof createRunner>;
