/**
 * Items that a process has claimed beyond those at work: while a thread works on one, the bytes of the next are read
 * and the results of the last ones are described, stored and recorded, which takes longer than the work on a small
 * picture.
 */
const READ_AND_STORED = 6;
/** One more than a single job may have, so that a large job never takes all the room. */
const FOR_OTHERS = 1;
/** Items that take little time are claimed together: about so much work at once. */
const BATCH_MS = 200;
/** A claim of several takes three questions, where one takes one: from here on it is the cheaper. */
const SMALLEST_BATCH = 4;
const LARGEST_BATCH = 64;
const FIRST_GUESS_MS = 200;
const LATEST_WEIGHT = 0.2;

/** How long claiming rests while a store is away, before it is tried again with one item. */
const REST_MS = { first: 1_000, longest: 5_000 };

/**
 * How many items of one kind of work a process claims ahead. While a store is away that the items need, claiming rests,
 * and then takes single items until one gets past the stores.
 */
export class Prefetch {
  readonly #width: () => number;
  /** Between the ends of two items, while there are some. */
  #meanMs = FIRST_GUESS_MS;
  #lastEndMs = 0;
  /** The length of the last rest; 0 once an item got past the stores. */
  #restMs = 0;
  #restedMs = 0;
  #opensMs = 0;
  /** Items that have a slot here, or are being claimed. */
  claimed = 0;

  /** @param width how many items can be worked on at once, now: it is asked at each use. */
  constructor(width: () => number) {
    this.#width = width;
  }

  /** How many items are claimed together. */
  get batch(): number {
    if (this.#restMs > 0) return 1;
    const items = Math.min(LARGEST_BATCH, Math.floor(BATCH_MS / this.#meanMs));
    return items < SMALLEST_BATCH ? 1 : items;
  }

  /**
   * Claimed as soon as there is room for a batch: until then, the items claimed already must be enough for the threads.
   */
  get limit(): number {
    const base = this.#width() + READ_AND_STORED + FOR_OTHERS;
    return Math.max(base + this.batch - 1, 2 * this.batch + FOR_OTHERS);
  }

  /** The most of a single job. */
  get limitOfJob(): number {
    return this.limit - FOR_OTHERS;
  }

  /** Whether one more item would be worked on at once. */
  get isIdle(): boolean {
    return this.claimed < this.#width() && this.#restMs === 0;
  }

  /** Whether items may be claimed at an instant. */
  isOpen(nowMs: number): boolean {
    return nowMs >= this.#opensMs;
  }

  /**
   * Notes a claim: while claiming rests it is one try, and the next one comes after another rest.
   * @returns milliseconds until then; 0 when it does not rest.
   */
  begin(nowMs: number): number {
    if (this.#restMs > 0) this.#opensMs = nowMs + this.#restMs;
    return this.#restMs;
  }

  /** Notes that an item got past the stores. @returns whether one was away before. */
  reached(): boolean {
    const hasRested = this.#restMs > 0;
    this.#restMs = 0;
    this.#opensMs = 0;
    return hasRested;
  }

  /**
   * Notes work that a store was away for. It makes the rest longer, but once for all that began before the rest did.
   * @returns milliseconds until it is open again; 0 when that is known already.
   */
  rest(startedMs: number, nowMs: number): number {
    if (this.#restMs > 0 && startedMs < this.#restedMs) return 0;
    this.#restMs = Math.min(Math.max(REST_MS.first, 2 * this.#restMs), REST_MS.longest);
    this.#restedMs = nowMs;
    this.#opensMs = nowMs + this.#restMs;
    return this.#restMs;
  }

  /** How many more items may be claimed. */
  get room(): number {
    return this.limit - this.claimed;
  }

  /**
   * Notes the work on an item, by the instants of its start and its end: of those that overlap, the time since the last
   * end counts.
   */
  took(startedMs: number, endedMs: number): void {
    const durationMs = endedMs - Math.max(startedMs, this.#lastEndMs);
    this.#lastEndMs = endedMs;
    this.#meanMs += LATEST_WEIGHT * (Math.max(0.01, durationMs) - this.#meanMs);
  }
}
