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

/** An item that this process works on. */
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
  /** The number of its items that hold a slot here or are being claimed. */
  claimed = 0;

  constructor(job: JobDocument, prefetch: ItemPrefetch) {
    this.job = job;
    this.prefetch = prefetch;
  }

  /** Aborts when the job is being cancelled. */
  get waitSignal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Claims no further items of it, and gives up items that wait for a worker. */
  stop(): void {
    this.#stopping.abort(new ItemStoppedError());
  }

  /** The number of further items that may be claimed. */
  get room(): number {
    return Math.min(this.prefetch.room, this.prefetch.limitOfJob - this.claimed);
  }

  /** Whether to claim more of its items now. Several are claimed together, as its prefetch decides. */
  canClaim(nowMs: number): boolean {
    if (this.#takesNoMore || this.isClaiming || !this.prefetch.isOpen(nowMs)) return false;
    return this.room >= this.prefetch.batch;
  }

  /** Whether none of its items is worked on here and no further item is known. */
  get isIdle(): boolean {
    return this.#takesNoMore && this.claimed === 0 && !this.isClaiming;
  }

  get #takesNoMore(): boolean {
    return this.isExhausted || this.waitSignal.aborted;
  }

  /** Records that there may be items to claim again. */
  wake(): void {
    this.#wakeUps += 1;
    this.isExhausted = false;
  }

  /**
   * Begins a claim. The returned function ends it, and is told whether the claim found no more items. A wake-up
   * meanwhile may concern an item that the claim did not see.
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
    this.claimed += count;
    this.prefetch.claimed += count;
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
      hasSiblings: () => this.claimed > 0 || this.isClaiming,
    };
  }
}

/** The ways to end a preclaim. Exactly one is taken. */
interface Ends {
  begin(job: JobDocument): void;
  giveBack(): Promise<void>;
  drop(): void;
}

/** The claim of a new job's only item. It is stored with the item, so that the job needs no other claim. */
export class Preclaim {
  /** The item as it is to be stored. */
  readonly item: ClaimedItem;
  readonly #ends: Ends;
  #isOver = false;

  constructor(item: ClaimedItem, ends: Ends) {
    this.item = item;
    this.#ends = ends;
  }

  /** Works on the item: its job runs. */
  begin(job: JobDocument): void {
    this.#isOver = true;
    this.#ends.begin(job);
  }

  /** Makes the item ready in the store, for the process that later runs the job. */
  async giveBack(): Promise<void> {
    await this.#ends.giveBack().finally(() => this.drop());
  }

  /** Drops the claim, because the job was not stored. It does nothing after another end. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ends.drop();
  }
}

/**
 * How many items a process claims beyond those that it works on. While a thread works on one item, the bytes of the
 * next are read, and the last results are described, stored and recorded. For a small picture, that takes longer than
 * the work itself.
 */
const ITEMS_BEYOND_WORK = 6;
/** The slots that a single job may not take, so that a large job never takes all of them. */
const FOR_OTHERS = 1;
/** Short items are claimed together until their work takes this many milliseconds. */
const BATCH_MS = 200;
/**
 * From this number of items on, claiming several together is cheaper, although it takes three queries instead of one.
 */
const MIN_BATCH_SIZE = 4;
const MAX_BATCH_SIZE = 64;
const FIRST_GUESS_MS = 200;
const LATEST_WEIGHT = 0.2;

/** The pause of claiming while a store is away. Then a single item is tried. */
const PAUSE_MS = { first: 1_000, longest: 5_000 };

/**
 * Decides how many items of one kind of work a process claims ahead. While a store that the items need is away,
 * claiming pauses. It then takes single items, until one reaches the stores.
 */
export class ItemPrefetch {
  readonly #width: () => number;
  readonly #most: () => number;
  /** Mean milliseconds between completed items while items are worked on. */
  #meanMs = FIRST_GUESS_MS;
  #lastEndMs = 0;
  /** Length of the last pause; 0 after an item has reached the stores. */
  #pauseMs = 0;
  #pausedMs = 0;
  #opensMs = 0;
  /** The number of items that hold a slot here or are being claimed. */
  claimed = 0;

  /**
   * Both numbers are read at each use.
   * @param width the number of items that can be worked on at the same time.
   * @param most the number of items that may be claimed in any case.
   */
  constructor(width: () => number, most: () => number) {
    this.#width = width;
    this.#most = most;
  }

  /** Number of items in one claim. */
  get batch(): number {
    if (this.#pauseMs > 0) return 1;
    const items = Math.min(MAX_BATCH_SIZE, this.#most() - FOR_OTHERS, Math.floor(BATCH_MS / this.#meanMs));
    return items < MIN_BATCH_SIZE ? 1 : items;
  }

  /** The most items that may be claimed. It keeps the threads busy until there is room for another batch. */
  get limit(): number {
    const base = this.#width() + ITEMS_BEYOND_WORK + FOR_OTHERS;
    return Math.min(this.#most(), Math.max(base + this.batch - 1, 2 * this.batch + FOR_OTHERS));
  }

  /** The most items that a single job may have here. */
  get limitOfJob(): number {
    return Math.max(1, this.limit - FOR_OTHERS);
  }

  /** Whether one more item would be worked on without a wait. */
  get isIdle(): boolean {
    return this.claimed < Math.min(this.#width(), this.#most()) && this.#pauseMs === 0;
  }

  /** Whether items may be claimed at an instant. */
  isOpen(nowMs: number): boolean {
    return nowMs >= this.#opensMs;
  }

  /**
   * Records a claim. During a pause, it is a single try, and the next one follows after another pause.
   * @returns milliseconds until the next try; 0 outside a pause.
   */
  begin(nowMs: number): number {
    if (this.#pauseMs > 0) this.#opensMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /**
   * Records that an item has reached the stores.
   * @returns whether a store was away before.
   */
  reached(): boolean {
    const wasPaused = this.#pauseMs > 0;
    this.#pauseMs = 0;
    this.#opensMs = 0;
    return wasPaused;
  }

  /**
   * Records an item that failed because a store was away. It lengthens the pause once for all items that began before
   * it.
   * @returns milliseconds until the next try; 0 when a pause has already been recorded.
   */
  pause(startedMs: number, nowMs: number): number {
    if (this.#pauseMs > 0 && startedMs < this.#pausedMs) return 0;
    this.#pauseMs = Math.min(Math.max(PAUSE_MS.first, 2 * this.#pauseMs), PAUSE_MS.longest);
    this.#pausedMs = nowMs;
    this.#opensMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /** The number of further items that may be claimed. */
  get room(): number {
    return this.limit - this.claimed;
  }

  /**
   * Records the start and the end of the work on an item. If items overlap, only the time since the last end counts.
   */
  took(startedMs: number, endedMs: number): void {
    const durationMs = endedMs - Math.max(startedMs, this.#lastEndMs);
    this.#lastEndMs = endedMs;
    this.#meanMs += LATEST_WEIGHT * (Math.max(0.01, durationMs) - this.#meanMs);
  }
}
