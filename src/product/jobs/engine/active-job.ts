import type { ClaimedItem, JobDocument } from '../job.ts';
import { ItemStoppedError, isBatchJob } from '../rules.ts';

/**
 * The kinds of work: `pixels` for image threads, `batches` for child processes, `pages` for browsers, and `models`,
 * which need no thread.
 */
export type WorkKind = 'pixels' | 'batches' | 'pages' | 'models';

/**
 * The kind of a job's work. Large and small jobs are claimed separately, so that small ones never wait for items of
 * large ones.
 */
export function workKindOf(job: Pick<JobDocument, 'type' | 'totalItems'>): WorkKind {
  if (job.type === 'process') return isBatchJob(job) ? 'batches' : 'pixels';
  return job.type === 'render' ? 'pages' : 'models';
}

/** The slot in this process that a claimed item holds. */
export interface RunnerItemSlot {
  /** Frees the slot. A second call does nothing. */
  release(): void;
  /** Whether this process works on further items of the job. */
  hasSiblings(): boolean;
}

export interface ItemAtWork {
  job: JobDocument;
  item: ClaimedItem;
  slot: RunnerItemSlot;
}

/** A job whose items this process claims. */
export class ActiveJob {
  readonly job: JobDocument;
  readonly prefetch: ItemPrefetch;
  isClaiming = false;
  /** Whether the last claim found no more items, and no wake-up has come since that claim began. */
  isExhausted = false;
  readonly #stopping = new AbortController();
  #wakeUps = 0;
  /** The number of items of the job that hold a slot here or are being claimed. */
  claimedCount = 0;

  constructor(job: JobDocument, prefetch: ItemPrefetch) {
    this.job = job;
    this.prefetch = prefetch;
  }

  /** Aborts when the job is being cancelled. */
  get waitSignal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Stops claiming items of the job, and gives up its items that wait for a worker. */
  stop(): void {
    this.#stopping.abort(new ItemStoppedError());
  }

  /** The number of further items that may be claimed. */
  get freeSlots(): number {
    return Math.min(this.prefetch.freeSlots, this.prefetch.limitPerJob - this.claimedCount);
  }

  /** Whether to claim more items of the job now. The prefetch decides how many are claimed together. */
  canClaim(nowMs: number): boolean {
    if (this.#hasNoMoreToClaim || this.isClaiming || !this.prefetch.mayClaim(nowMs)) return false;
    return this.freeSlots >= this.prefetch.batch;
  }

  /** Whether this process works on no item of the job and knows of no item to claim. */
  get isIdle(): boolean {
    return this.#hasNoMoreToClaim && this.claimedCount === 0 && !this.isClaiming;
  }

  get #hasNoMoreToClaim(): boolean {
    return this.isExhausted || this.waitSignal.aborted;
  }

  /** Records that there may be items to claim again. */
  wake(): void {
    this.#wakeUps += 1;
    this.isExhausted = false;
  }

  /**
   * Begins a claim. The returned function ends the claim, and takes as its argument whether the claim found no more
   * items. A wake-up in between may concern an item that the claim did not see.
   */
  beginClaim(): (foundNoMore: boolean) => void {
    const wakeUpsBefore = this.#wakeUps;
    this.isClaiming = true;
    return (foundNoMore) => {
      this.isClaiming = false;
      this.isExhausted = foundNoMore && this.#wakeUps === wakeUpsBefore;
    };
  }

  /** Reserves slots before a claim. A negative count frees the slots that the claim did not use. */
  reserve(count: number): void {
    this.claimedCount += count;
    this.prefetch.claimedCount += count;
  }

  /**
   * Gives an item one of the reserved slots.
   * @param onRelease called once.
   */
  slot(onRelease: () => void): RunnerItemSlot {
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

/** The three ways in which a pending claim can end. Exactly one of them is called. */
interface ClaimOutcomes {
  begin(job: JobDocument): void;
  giveBack(): Promise<void>;
  drop(): void;
}

/** The claim of a new job's only item. It is stored with the item, so that the job needs no other claim. */
export class PendingClaim {
  /** The item as it is to be stored. */
  readonly item: ClaimedItem;
  readonly #outcomes: ClaimOutcomes;
  #isOver = false;

  constructor(item: ClaimedItem, ends: ClaimOutcomes) {
    this.item = item;
    this.#outcomes = ends;
  }

  /** Begins the work on the item, because its job runs. */
  begin(job: JobDocument): void {
    this.#isOver = true;
    this.#outcomes.begin(job);
  }

  /** Makes the item ready in the store, for the process that later runs the job. */
  async giveBack(): Promise<void> {
    await this.#outcomes.giveBack().finally(() => this.drop());
  }

  /** Drops the claim, because the job was not stored. After another end, this method does nothing. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#outcomes.drop();
  }
}

/**
 * How many items a process claims beyond those that it works on. While a thread works on one item, the bytes of the
 * next are read, and the last results are described, stored and recorded. For a small picture, that takes longer than
 * the work itself.
 */
const ITEMS_CLAIMED_AHEAD = 6;
/** The slots that a single job may not take, so that a large job never takes all of them. */
const SLOTS_FOR_OTHER_JOBS = 1;
/** The work that one claim aims at, in milliseconds, so that many short items are claimed together. */
const BATCH_WORK_MS = 200;
/**
 * The smallest batch. A claim of several items takes three queries, and a claim of one item takes one, so smaller
 * batches would cost more.
 */
const MIN_BATCH_SIZE = 4;
const MAX_BATCH_SIZE = 64;
const INITIAL_MEAN_MS = 200;
const SMOOTHING_FACTOR = 0.2;

/** How long claiming pauses while a store is away. After the pause, a single item is tried. */
const CLAIM_PAUSE_MS = { first: 1_000, longest: 5_000 };

/**
 * Decides how many items of one kind of work a process claims ahead. While a store that the items need is away,
 * claiming pauses. After the pause, items are claimed one by one, until one reaches the stores.
 */
export class ItemPrefetch {
  readonly #width: () => number;
  readonly #maxItems: () => number;
  /** Mean milliseconds between completed items while items are worked on. */
  #meanMs = INITIAL_MEAN_MS;
  #lastEndMs = 0;
  /** Length of the last pause; 0 after an item has reached the stores. */
  #pauseMs = 0;
  #pauseBeganMs = 0;
  #resumesMs = 0;
  /** The number of items that hold a slot here or are being claimed. */
  claimedCount = 0;

  /**
   * Both functions are called at each use, because their numbers may change.
   * @param width the number of items that can be worked on at the same time.
   * @param maxItems the most items that may be claimed in any case.
   */
  constructor(width: () => number, maxItems: () => number) {
    this.#width = width;
    this.#maxItems = maxItems;
  }

  /** Number of items in one claim. */
  get batch(): number {
    if (this.#pauseMs > 0) return 1;
    const items = Math.min(
      MAX_BATCH_SIZE,
      this.#maxItems() - SLOTS_FOR_OTHER_JOBS,
      Math.floor(BATCH_WORK_MS / this.#meanMs),
    );
    return items < MIN_BATCH_SIZE ? 1 : items;
  }

  /**
   * The most items that may be claimed at a time: enough to keep the threads busy until there is room for another
   * batch.
   */
  get limit(): number {
    const base = this.#width() + ITEMS_CLAIMED_AHEAD + SLOTS_FOR_OTHER_JOBS;
    return Math.min(this.#maxItems(), Math.max(base + this.batch - 1, 2 * this.batch + SLOTS_FOR_OTHER_JOBS));
  }

  /** The most items that a single job may have here. */
  get limitPerJob(): number {
    return Math.max(1, this.limit - SLOTS_FOR_OTHER_JOBS);
  }

  /** Whether one more item would be worked on without a wait. */
  get isIdle(): boolean {
    return this.claimedCount < Math.min(this.#width(), this.#maxItems()) && this.#pauseMs === 0;
  }

  /** Whether the pause of claiming is over at an instant. */
  mayClaim(nowMs: number): boolean {
    return nowMs >= this.#resumesMs;
  }

  /**
   * Records a claim. While a store is away, each claim is a single try, and another pause follows it.
   * @returns milliseconds until the next try; 0 outside a pause.
   */
  recordClaim(nowMs: number): number {
    if (this.#pauseMs > 0) this.#resumesMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /**
   * Records that an item has reached the stores.
   * @returns whether a store was away before.
   */
  recordStoreReached(): boolean {
    const wasPaused = this.#pauseMs > 0;
    this.#pauseMs = 0;
    this.#resumesMs = 0;
    return wasPaused;
  }

  /**
   * Records an item that failed because a store was away. For all items that began before the pause, the pause is
   * lengthened only once.
   * @returns milliseconds until the next try; 0 when a pause has already been recorded.
   */
  recordOutage(startedMs: number, nowMs: number): number {
    if (this.#pauseMs > 0 && startedMs < this.#pauseBeganMs) return 0;
    this.#pauseMs = Math.min(Math.max(CLAIM_PAUSE_MS.first, 2 * this.#pauseMs), CLAIM_PAUSE_MS.longest);
    this.#pauseBeganMs = nowMs;
    this.#resumesMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /** The number of further items that may be claimed. */
  get freeSlots(): number {
    return this.limit - this.claimedCount;
  }

  /**
   * Records the start and the end of the work on an item. If the work on several items overlaps, only the time since
   * the last end counts.
   */
  recordWork(startedMs: number, endedMs: number): void {
    const durationMs = endedMs - Math.max(startedMs, this.#lastEndMs);
    this.#lastEndMs = endedMs;
    this.#meanMs += SMOOTHING_FACTOR * (Math.max(0.01, durationMs) - this.#meanMs);
  }
}
