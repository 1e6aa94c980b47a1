import type { JobDocument } from '../job.ts';

/**
 * What items wait for: image threads, the processes for pixels of large jobs, browsers, or models, which take seconds and
 * no thread.
 */
export type LaneName = 'pixels' | 'batches' | 'pages' | 'models';

/**
 * From so many items on, a job gives way to calls and to smaller jobs: below that it is over in half a second or so, about
 * what a process of its own would take to start.
 */
const BATCH_ITEMS = 20;

export function isBatch({ totalItems }: Pick<JobDocument, 'totalItems'>): boolean {
  return totalItems >= BATCH_ITEMS;
}

/** Large and small jobs have a lane each, so that a small one never waits until items of large ones are out of hand. */
export function laneOf(job: Pick<JobDocument, 'type' | 'totalItems'>): LaneName {
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

/** How much of a kind of work a process takes into its hand. */
export class Lane {
  readonly #width: number;
  readonly #base: number;
  /** Between the ends of two items, while there are some. */
  #meanMs = FIRST_GUESS_MS;
  #lastEndMs = 0;
  inHand = 0;

  /** @param width how many items can be worked on at once. */
  constructor(width: number) {
    this.#width = width;
    this.#base = width + READ_AND_STORED + FOR_OTHERS;
  }

  /** How many items are claimed together. */
  get batch(): number {
    const items = Math.min(LARGEST_BATCH, Math.floor(BATCH_MS / this.#meanMs));
    return items < SMALLEST_BATCH ? 1 : items;
  }

  /** Claimed as soon as there is room for a batch: until then, what is in hand must be enough for the threads. */
  get limit(): number {
    return Math.max(this.#base + this.batch - 1, 2 * this.batch + FOR_OTHERS);
  }

  /** The most of a single job. */
  get limitOfJob(): number {
    return this.limit - FOR_OTHERS;
  }

  /** Whether one more item would be worked on at once. */
  get isIdle(): boolean {
    return this.inHand < this.#width;
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
