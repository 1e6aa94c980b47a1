import type { JobDocument } from '../job.ts';
import { isBatch } from '../rules.ts';
import type { Prefetch } from './prefetch.ts';

/**
 * The kinds of workers: image threads, child processes for large jobs, browsers, and models, which need no thread.
 */
export type WorkKind = 'pixels' | 'batches' | 'pages' | 'models';

/**
 * Large and small jobs are claimed separately, so that a small one never waits until items of large ones have ended.
 */
export function workKindOf(job: Pick<JobDocument, 'type' | 'totalItems'>): WorkKind {
  if (job.type === 'process') return isBatch(job) ? 'batches' : 'pixels';
  return job.type === 'render' ? 'pages' : 'models';
}

/** The room that one claimed item takes in its process. */
export interface Slot {
  /** Makes room for another item. A second call does nothing. */
  release(): void;
  /** Whether this process has more items of the job, whose outcomes are still to come. */
  hasSiblings(): boolean;
}

/** A job that this process claims items of. */
export class ActiveJob {
  readonly job: JobDocument;
  readonly prefetch: Prefetch;
  isClaiming = false;
  /** The last claim found no more items. */
  isExhausted = false;
  isCancelling = false;
  #claimed = 0;

  constructor(job: JobDocument, prefetch: Prefetch) {
    this.job = job;
    this.prefetch = prefetch;
  }

  /** Items of it that have a slot here, or are being claimed. */
  get claimed(): number {
    return this.#claimed;
  }

  /** How many more of its items there is room for. */
  get room(): number {
    return Math.min(this.prefetch.room, this.prefetch.limitOfJob - this.#claimed);
  }

  /** Whether more of its items are to be claimed now: as many together as its prefetch claims. */
  canClaim(nowMs: number): boolean {
    if (this.isExhausted || this.isCancelling || this.isClaiming || !this.prefetch.isOpen(nowMs))
      return false;
    return this.room >= this.prefetch.batch;
  }

  /** Whether this process is done with it, unless it hears of more items. */
  get isIdle(): boolean {
    return (this.isExhausted || this.isCancelling) && this.#claimed === 0 && !this.isClaiming;
  }

  /** Takes slots before a claim; a negative count gives back those that the claim left empty. */
  reserve(count: number): void {
    this.#claimed += count;
    this.prefetch.claimed += count;
  }

  /**
   * The slot of one item that was reserved.
   * @param onRelease called once.
   */
  slot(onRelease: () => void): Slot {
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.reserve(-1);
        onRelease();
      },
      hasSiblings: () => this.#claimed > 0 || this.isClaiming,
    };
  }
}
