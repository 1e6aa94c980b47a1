import type { ClaimedItem, JobDocument } from '../job.ts';
import { ItemStoppedError, isBatchJob } from '../rules.ts';

/**
 * The kinds of work by what they need: `pixels` an image thread, `batches` a child process, `pages` a browser, and
 * `models` none of these.
 */
export type WorkKind = 'pixels' | 'batches' | 'pages' | 'models';

/**
 * The kind of a job's work. Large and small image jobs are different kinds, so that items of small jobs never wait for
 * those of large jobs.
 */
export function workKindOf(job: Pick<JobDocument, 'type' | 'totalItems'>): WorkKind {
  if (job.type === 'process') return isBatchJob(job) ? 'batches' : 'pixels';
  return job.type === 'render' ? 'pages' : 'models';
}

/** The slot of this process that a claimed item occupies. */
export interface RunnerItemSlot {
  /** Frees the slot. A second call does nothing. */
  release(): void;
  /** Whether this process holds or claims further items of the same job. */
  hasSiblings(): boolean;
}

export interface RunningItem {
  job: JobDocument;
  item: ClaimedItem;
  slot: RunnerItemSlot;
}

/** A running job whose items this process claims. */
export class ActiveJob {
  readonly job: JobDocument;
  readonly prefetch: ItemPrefetch;
  isClaiming = false;
  /**
   * Whether the last claim found no more items. A wake-up resets it to false, even if the wake-up arrives during the
   * claim.
   */
  isExhausted = false;
  readonly #stopController = new AbortController();
  #wakeUps = 0;
  /** How many items of the job occupy a slot in this process or are being claimed. */
  claimedCount = 0;

  constructor(job: JobDocument, prefetch: ItemPrefetch) {
    this.job = job;
    this.prefetch = prefetch;
  }

  /** Aborts when the job is being cancelled. */
  get waitSignal(): AbortSignal {
    return this.#stopController.signal;
  }

  /** Stops claiming items of the job, and gives up the items that wait for a worker. */
  stop(): void {
    this.#stopController.abort(new ItemStoppedError());
  }

  /** How many more items of the job may be claimed. */
  get freeSlots(): number {
    return Math.min(this.prefetch.freeSlots, this.prefetch.limitPerJob - this.claimedCount);
  }

  /** Whether to claim more items of the job now. */
  canClaim(nowMs: number): boolean {
    if (this.#hasNoMoreToClaim || this.isClaiming || !this.prefetch.mayClaim(nowMs)) return false;
    return this.freeSlots >= this.prefetch.batchSize;
  }

  /** Whether this process works on no item of the job and knows of no item to claim. */
  get isIdle(): boolean {
    return this.#hasNoMoreToClaim && this.claimedCount === 0 && !this.isClaiming;
  }

  get #hasNoMoreToClaim(): boolean {
    return this.isExhausted || this.waitSignal.aborted;
  }

  /** Records that the job may have items to claim again. */
  wake(): void {
    this.#wakeUps += 1;
    this.isExhausted = false;
  }

  /**
   * Begins a claim. The returned function ends the claim; its argument says whether the claim found no more items. If a
   * wake-up arrived in the meantime, this is ignored, because a new item may have been stored after the claim read the
   * store.
   */
  beginClaim(): (hasFoundNoMore: boolean) => void {
    const wakeUpsBefore = this.#wakeUps;
    this.isClaiming = true;
    return (hasFoundNoMore) => {
      this.isClaiming = false;
      this.isExhausted = hasFoundNoMore && this.#wakeUps === wakeUpsBefore;
    };
  }

  /** Reserves slots before a claim. A negative count frees the slots that the claim did not need. */
  reserve(count: number): void {
    this.claimedCount += count;
    this.prefetch.claimedCount += count;
  }

  /**
   * Gives one of the reserved slots to an item.
   * @param onRelease called once, when the slot is freed.
   */
  takeSlot(onRelease: () => void): RunnerItemSlot {
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.reserve(-1);
        onRelease();
      },
      hasSiblings: () => this.claimedCount > 0 || this.isClaiming,
    };
  }
}

/** A claim of the only item of a new job. It is stored together with the item, which saves a separate claim. */
export interface PendingClaim {
  item: ClaimedItem;
  /** Begins the work on the item, because the job is now running. */
  begin(job: JobDocument): void;
  /** Stores the item as unclaimed, because the job does not run yet. The process that works on it later claims it. */
  giveBack(): Promise<void>;
  /** Drops the claim, because the job was not stored. It does nothing if the claim has already ended in another way. */
  drop(): void;
}

/**
 * How many items a process claims beyond the number that it works on at once. While a thread works on one item, the
 * bytes of the next item are read, and the results of the previous ones are described, stored and recorded. For a small
 * picture, this takes longer than the work itself.
 */
const ITEMS_CLAIMED_AHEAD = 6;
/** How many slots a single job must leave to others, so that a large job never takes all of them. */
const SLOTS_FOR_OTHER_JOBS = 1;
/**
 * The time that the work on one batch of claimed items should take, in milliseconds. Short items are therefore claimed
 * in large batches.
 */
const CLAIM_BATCH_WORK_MS = 200;
/**
 * The minimum size of a batch. A claim of several items takes three queries, as many as three claims of one item each.
 */
const MIN_CLAIM_BATCH_SIZE = 4;
const MAX_CLAIM_BATCH_SIZE = 64;
const INITIAL_MEAN_ITEM_MS = 200;
const MEAN_SMOOTHING_FACTOR = 0.2;

/** How long claiming pauses while a store is unavailable, in milliseconds. After each pause, a single item is tried. */
const CLAIM_PAUSE_MS = { first: 1_000, longest: 5_000 };

/**
 * Decides how many items of one kind of work a process claims in advance. While a store that the items need is
 * unavailable, claiming pauses. After the pause, items are claimed one by one, until one of them reaches the stores.
 */
export class ItemPrefetch {
  readonly #concurrency: () => number;
  readonly #maxItems: () => number;
  /** The moving average of the time between the ends of two items, in milliseconds. Idle time does not count. */
  #meanMs = INITIAL_MEAN_ITEM_MS;
  #lastEndMs = 0;
  /** The length of the last pause in milliseconds; 0 after an item has reached the stores. */
  #pauseMs = 0;
  #pauseBeganMs = 0;
  #resumesMs = 0;
  /** How many items occupy a slot or are being claimed. */
  claimedCount = 0;

  /**
   * Both functions are called at each use, because their results may change.
   * @param concurrency how many items can be worked on at the same time.
   * @param maxItems the upper limit of claimed items: the setting JOB_ITEMS.
   */
  constructor(concurrency: () => number, maxItems: () => number) {
    this.#concurrency = concurrency;
    this.#maxItems = maxItems;
  }

  /** The number of items that one claim requests. */
  get batchSize(): number {
    if (this.#pauseMs > 0) return 1;
    const items = Math.min(
      MAX_CLAIM_BATCH_SIZE,
      this.#maxItems() - SLOTS_FOR_OTHER_JOBS,
      Math.floor(CLAIM_BATCH_WORK_MS / this.#meanMs),
    );
    return items < MIN_CLAIM_BATCH_SIZE ? 1 : items;
  }

  /** The maximum number of claimed items: enough to keep the threads busy until there is room for another batch. */
  get limit(): number {
    const base = this.#concurrency() + ITEMS_CLAIMED_AHEAD + SLOTS_FOR_OTHER_JOBS;
    return Math.min(
      this.#maxItems(),
      Math.max(base + this.batchSize - 1, 2 * this.batchSize + SLOTS_FOR_OTHER_JOBS),
    );
  }

  /** The maximum number of claimed items of one job, so that slots stay free for other jobs. */
  get limitPerJob(): number {
    return Math.max(1, this.limit - SLOTS_FOR_OTHER_JOBS);
  }

  /** Whether the work on another item could begin immediately. */
  get hasFreeWorker(): boolean {
    return this.claimedCount < Math.min(this.#concurrency(), this.#maxItems()) && this.#pauseMs === 0;
  }

  /** Whether claiming is not paused at this instant. */
  mayClaim(nowMs: number): boolean {
    return nowMs >= this.#resumesMs;
  }

  /**
   * Records a claim. While a store is unavailable, a claim takes a single item, and another pause follows it.
   * @returns milliseconds until the next claim; 0 if no store is unavailable.
   */
  recordClaim(nowMs: number): number {
    if (this.#pauseMs > 0) this.#resumesMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /**
   * Records that an item has reached the stores.
   * @returns whether claiming was paused before.
   */
  recordStoreReached(): boolean {
    const wasPaused = this.#pauseMs > 0;
    this.#pauseMs = 0;
    this.#resumesMs = 0;
    return wasPaused;
  }

  /**
   * Records an item that failed because a store was unavailable. Many items may fail in one outage, so items that began
   * before the pause do not lengthen it.
   * @returns milliseconds until the next claim; 0 if the pause was not lengthened.
   */
  recordOutage(startedMs: number, nowMs: number): number {
    if (this.#pauseMs > 0 && startedMs < this.#pauseBeganMs) return 0;
    this.#pauseMs = Math.min(Math.max(CLAIM_PAUSE_MS.first, 2 * this.#pauseMs), CLAIM_PAUSE_MS.longest);
    this.#pauseBeganMs = nowMs;
    this.#resumesMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /** How many more items may be claimed. */
  get freeSlots(): number {
    return this.limit - this.claimedCount;
  }

  /**
   * Records the start and the end of the work on an item. If the work on several items overlaps, only the time since
   * the previous end counts.
   */
  recordWork(startedMs: number, endedMs: number): void {
    const durationMs = endedMs - Math.max(startedMs, this.#lastEndMs);
    this.#lastEndMs = endedMs;
    this.#meanMs += MEAN_SMOOTHING_FACTOR * (Math.max(0.01, durationMs) - this.#meanMs);
  }
}
