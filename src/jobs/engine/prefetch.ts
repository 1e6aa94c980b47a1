import type { JobDocument } from '../job.ts';

/**
 * What items wait for: image threads, the processes for pixels of large jobs, browsers, or models, which take seconds and
 * no thread.
 */
export type WorkKind = 'pixels' | 'batches' | 'pages' | 'models';

/**
 * From so many items on, a job gives way to calls and to smaller jobs: below that it is over in half a second or so, about
 * what a process of its own would take to start.
 */
const BATCH_ITEMS = 20;

export function isBatch({ totalItems }: Pick<JobDocument, 'totalItems'>): boolean {
  return totalItems >= BATCH_ITEMS;
}

/** Large and small jobs have a lane each, so that a small one never waits until items of large ones are out of hand. */
export function workKindOf(job: Pick<JobDocument, 'type' | 'totalItems'>): WorkKind {
  if (job.type === 'process') return isBatch(job) ? 'batches' : 'pixels';
  return job.type === 'render' ? 'pages' : 'models';
}

/**
 * Items of a lane in the hand of a process beyond those at work: while a thread works on one, the bytes of the next are
 * read and the results of the last ones are described, stored and settled, which takes longer than the work on a small picture.
 */
const READ_AND_STORED = 6;
/** One more than a single job may have, so that a large job never fills the lane. */
const FOR_OTHERS = 1;
/** Items that take little time are claimed together: about so much work at once. */
const BATCH_MS = 200;
/** A claim of several takes three questions, where one takes one: from here on it is the cheaper. */
const SMALLEST_BATCH = 4;
const LARGEST_BATCH = 64;
const FIRST_GUESS_MS = 200;
const LATEST_WEIGHT = 0.2;

/** How long a lane rests for which a store is away, before it tries again with one item. */
const REST_MS = { first: 1_000, longest: 5_000 };

/**
 * How much of a kind of work a process takes into its hand. While a store is away that its items need, it rests, and then
 * takes a single one, until one gets past the stores.
 */
export class Prefetch {
  readonly #width: () => number;
  /** Between the ends of two items, while there are some. */
  #meanMs = FIRST_GUESS_MS;
  #lastEndMs = 0;
  /** Of the rest that was taken last; 0 once an item got past the stores. */
  #restMs = 0;
  #restedMs = 0;
  #opensMs = 0;
  inHand = 0;

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

  /** Claimed as soon as there is room for a batch: until then, what is in hand must be enough for the threads. */
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
    return this.inHand < this.#width() && this.#restMs === 0;
  }

  /** Whether items may be claimed at an instant. */
  isOpen(nowMs: number): boolean {
    return nowMs >= this.#opensMs;
  }

  /**
   * Notes a claim: of a lane that rests it is one try, and the next one comes after another rest.
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

  get free(): number {
    return this.limit - this.inHand;
  }

  /** Notes the work on an item, by the instants of its start and its end: of those that overlap, the time since the last end counts. */
  took(startedMs: number, endedMs: number): void {
    const durationMs = endedMs - Math.max(startedMs, this.#lastEndMs);
    this.#lastEndMs = endedMs;
    this.#meanMs += LATEST_WEIGHT * (Math.max(0.01, durationMs) - this.#meanMs);
  }
}
