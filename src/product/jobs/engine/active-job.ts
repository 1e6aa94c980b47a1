import { ItemStoppedError } from '../item-work.ts';
import type { ClaimedItem, JobDocument } from '../job.ts';
import { isBatchJob } from '../rules.ts';
import type { ItemPrefetch } from './prefetch.ts';

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
