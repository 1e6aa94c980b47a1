/**
 * A process claims more items than it works on: while a thread works on one, the bytes of the next are read, and the
 * results of the last ones are described, stored and recorded. That takes longer than the work on a small picture.
 */
const ITEMS_BEYOND_WORK = 6;
/** The slots that a single job may not take, so that a large job never takes all. */
const FOR_OTHERS = 1;
/** Short items are claimed together until their work takes this long. */
const BATCH_MS = 200;
/** From this number of items on, one claim of several is cheaper, although it takes three queries instead of one. */
const MIN_BATCH_SIZE = 4;
const MAX_BATCH_SIZE = 64;
const FIRST_GUESS_MS = 200;
const LATEST_WEIGHT = 0.2;

/** Pause of claiming while a store is away, before one item is tried. */
const PAUSE_MS = { first: 1_000, longest: 5_000 };

/**
 * How many items of one kind of work a process claims ahead. While a store is away that the items need, claiming
 * pauses, and then takes single items until one gets past the stores.
 */
export class Prefetch {
  readonly #width: () => number;
  readonly #most: () => number;
  /** Mean time between completed items, while there are some at work. */
  #meanMs = FIRST_GUESS_MS;
  #lastEndMs = 0;
  /** Length of the last pause; 0 after an item reached the stores. */
  #pauseMs = 0;
  #pausedMs = 0;
  #opensMs = 0;
  /** Number of items that have a slot here or are being claimed. */
  claimed = 0;

  /**
   * Both numbers are read at each use.
   * @param width the number of items that can be worked on at once.
   * @param most the number of items that may be claimed, whatever can be worked on.
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

  /** Number of items claimed at most. It keeps the threads busy until there is room for another batch. */
  get limit(): number {
    const base = this.#width() + ITEMS_BEYOND_WORK + FOR_OTHERS;
    return Math.min(this.#most(), Math.max(base + this.batch - 1, 2 * this.batch + FOR_OTHERS));
  }

  /** Number of items that a single job may have here. */
  get limitOfJob(): number {
    return Math.max(1, this.limit - FOR_OTHERS);
  }

  /** Whether another item would be worked on without a wait. */
  get isIdle(): boolean {
    return this.claimed < Math.min(this.#width(), this.#most()) && this.#pauseMs === 0;
  }

  /** Whether items may be claimed at an instant. */
  isOpen(nowMs: number): boolean {
    return nowMs >= this.#opensMs;
  }

  /**
   * Notes a claim. During a pause it is a single try, and the next one follows after another pause.
   * @returns milliseconds until the next try; 0 outside a pause.
   */
  begin(nowMs: number): number {
    if (this.#pauseMs > 0) this.#opensMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /** Notes that an item reached the stores. @returns whether one of them was away before. */
  reached(): boolean {
    const wasPaused = this.#pauseMs > 0;
    this.#pauseMs = 0;
    this.#opensMs = 0;
    return wasPaused;
  }

  /**
   * Notes an item that failed because a store was away. It lengthens the pause once for all items that began before it.
   * @returns milliseconds until the next try; 0 when a pause has already been noted.
   */
  pause(startedMs: number, nowMs: number): number {
    if (this.#pauseMs > 0 && startedMs < this.#pausedMs) return 0;
    this.#pauseMs = Math.min(Math.max(PAUSE_MS.first, 2 * this.#pauseMs), PAUSE_MS.longest);
    this.#pausedMs = nowMs;
    this.#opensMs = nowMs + this.#pauseMs;
    return this.#pauseMs;
  }

  /** Number of further items that may be claimed. */
  get room(): number {
    return this.limit - this.claimed;
  }

  /**
   * Notes the start and the end of the work on an item. If items overlap, only the time since the last end counts.
   */
  took(startedMs: number, endedMs: number): void {
    const durationMs = endedMs - Math.max(startedMs, this.#lastEndMs);
    this.#lastEndMs = endedMs;
    this.#meanMs += LATEST_WEIGHT * (Math.max(0.01, durationMs) - this.#meanMs);
  }
}
