import { LRUCache } from 'lru-cache';
import type { RenderResult, RenderTask } from '../../../workers/render/protocol.ts';
import { rejectOnAbort } from '../../../workers/transport/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import { AdmissionQueue } from '../images/admission.ts';
import type { CallDeadline } from '../images/deadline.ts';
import type { AccountWorkerTime } from '../images/pools/work-history.ts';
import type { WorkClass } from '../images/slots.ts';
import { drawingTooSlowError, stoppedForOthersError } from './failures.ts';
import type { IdleEndingThread, RenderThread } from './thread.ts';

interface RenderPoolOptions {
  threads: readonly RenderThread[];
  /** The number of pages in a thread at the same time: one is drawn while the previous one is encoded. */
  slotsPerThread: number;
  queueLimit: number;
  /**
   * An additional thread. With it, no account may have pages in all threads, so a page of another account always finds
   * a thread that no slow page blocks.
   */
  spare?: IdleEndingThread;
  /**
   * If set, a page is refused when it was drawn for this many milliseconds while pages of other accounts waited. If
   * absent, a slow page is withdrawn instead, so that it can be drawn in another pool.
   */
  fairDrawingMs?: number;
  /** Called when a page of this account was stopped or withdrawn for others, or exceeded its time or memory. */
  onStopped: (accountId: string) => void;
  /**
   * Counts the time of calls. An account that has used up its budget gets only slots that no other account waits for.
   */
  workerTime: Pick<AccountWorkerTime, 'recordCpuTime' | 'mustYield' | 'isOnlyActiveAccount'>;
  clock: Clock;
}

/** A call to the pool: the page, and its deadline. */
export interface PageCall extends Omit<RenderTask, 'kind' | 'deadlineMs'> {
  work?: WorkClass | undefined;
  deadline: CallDeadline;
}

/** A killed page counts as having delayed others if it was drawn for at least this long. */
const MIN_DELAYING_MS = 1_000;

/**
 * While other accounts wait, a page counts as slow after this time at the earliest, however quick the usual page is.
 * Restarting a page elsewhere takes about as long.
 */
const MIN_SLOW_THRESHOLD_MS = 300;
/**
 * The first page of an account counts as slow after this time at the earliest, if other accounts are served but none
 * waits. Such a page costs the others only CPU time.
 */
const MIN_SLOW_BESIDE_OTHERS_MS = 1_000;
/**
 * A page counts as slow after this time, if a page of its account was drawn before, and other accounts are served but
 * none waits.
 */
const MAX_DRAWING_BESIDE_OTHERS_MS = 5_000;
/** A page counts as slow from a multiple of the usual drawing time on, but at the latest from this time on. */
const MAX_SLOW_THRESHOLD_MS = 2_000;
const SLOW_THRESHOLD_FACTOR = 4;

/** A page that waits for a thread of the pool, or that a thread draws. */
interface PooledPage {
  accountId: string;
  /** The thread that draws the page, or will draw it after another page; null while the page has no slot. */
  thread: RenderThread | null;
  /** The time at which the drawing of the page began; null while the page waits. */
  drawnSinceMs: number | null;
  /** Aborts when the pool itself ends the page. */
  ending: AbortController;
  /** Aborts when the page has to leave its thread. */
  moving: AbortController;
  endedAs: 'stopped' | 'withdrawn' | null;
}

/** Render threads with their queue. No page keeps the others waiting for long. */
export class RenderPool {
  readonly #options: RenderPoolOptions;
  readonly #clock: Clock;
  /** The queue in front of the slots. Only the pool itself takes slots. */
  readonly admission: AdmissionQueue;
  readonly #usualTime = new UsualDrawingTime();
  readonly #pages = new Set<PooledPage>();
  #threads: readonly RenderThread[];
  /** Removed threads that still have pages. */
  readonly #retiringThreads = new Set<RenderThread>();
  #cancelNextCheck: (() => void) | undefined;

  constructor(options: RenderPoolOptions) {
    const { threads, queueLimit, workerTime, clock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#threads = threads;
    // Memory is not reserved: it is limited by the number of browsers, each of which draws one page at a time.
    this.admission = new AdmissionQueue({
      ...this.#slotsOf(threads.length),
      budgetBytes: Number.MAX_SAFE_INTEGER,
      limits: () => ({ calls: queueLimit }),
      mustYield: workerTime.mustYield,
      clock,
    });
  }

  /**
   * Draws a page when it has its slot. Resolves with `withdrawn` if the page has to be drawn again in another pool,
   * because it, or another page of its account, was slow while others waited. Settles when no thread works for the page
   * any more.
   * @throws ApiError capacity when the queue is full, or when the page was stopped for others because it took long; the
   * reason of the deadline's signal; Error when the thread was lost.
   */
  async draw(call: PageCall): Promise<RenderResult | 'withdrawn'> {
    const page: PooledPage = {
      accountId: call.accountId,
      thread: null,
      drawnSinceMs: null,
      ending: new AbortController(),
      moving: new AbortController(),
      endedAs: null,
    };
    this.#pages.add(page);
    try {
      const drawing = this.#drawInTurn(call, page);
      this.endSlowPages();
      const result = await drawing;
      if (page.endedAs === null || result.kind === 'rendered') return result;
    } catch (error) {
      if (page.endedAs === null || error !== page.ending.signal.reason) throw error;
    } finally {
      this.#pages.delete(page);
      this.endSlowPages();
    }
    if (page.endedAs === 'withdrawn') return 'withdrawn';
    throw stoppedForOthersError(this.#options.fairDrawingMs ?? 0, this.admission.retryAfterSeconds());
  }

  /** Withdraws those pages of an account that are not being drawn yet. */
  withdraw(accountId: string): void {
    for (const page of this.#pages)
      if (page.accountId === accountId && page.drawnSinceMs === null) endPage(page, 'withdrawn');
  }

  /** Ends the pages that have been drawn for too long while other accounts wait, and schedules the next check. */
  readonly endSlowPages = (): void => {
    this.#cancelNextCheck?.();
    this.#cancelNextCheck = undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const page of this.#pages) {
      if (page.drawnSinceMs === null || page.endedAs !== null) continue;
      const waitMs = this.#maxDrawingMs(page) - (this.#clock.elapsedMs() - page.drawnSinceMs);
      if (waitMs <= 0) this.#endPageForOthers(page);
      else nextMs = Math.min(nextMs, waitMs);
    }
    if (nextMs !== Number.POSITIVE_INFINITY)
      this.#cancelNextCheck = this.#clock.after(Math.ceil(nextMs), this.endSlowPages);
  };

  /** The threads that take new pages. Removed threads that still have pages are not among them. */
  threads(): readonly RenderThread[] {
    return this.#threads;
  }

  /** Replaces the threads. A removed thread ends once its pages are finished. */
  resize(threads: readonly RenderThread[]): void {
    const removed = this.#threads.filter((thread) => !threads.includes(thread));
    this.#threads = threads;
    this.admission.resize(this.#slotsOf(threads.length));
    for (const thread of removed) {
      this.#retiringThreads.add(thread);
      this.#stopThreadWhenFree(thread);
    }
  }

  /**
   * Draws a page in its slot. The slot stays taken until the thread has answered, even if the caller has stopped
   * waiting.
   */
  async #drawInTurn(call: PageCall, page: PooledPage): Promise<RenderResult> {
    const { accountId, work, deadline } = call;
    const signal = AbortSignal.any([deadline.signal, page.ending.signal]);
    const slot = await deadline.waitForSlot(this.admission.acquire({ accountId, work, bytes: 0, signal }));
    try {
      for (;;) {
        signal.throwIfAborted();
        const answer = await this.#drawOnce(call, page, signal);
        if (answer === 'moved') continue;
        this.#recordResult(page, answer);
        return answer;
      }
    } finally {
      slot.release();
    }
  }

  /** Draws the page in one of the threads. */
  async #drawOnce(call: PageCall, page: PooledPage, ending: AbortSignal): Promise<RenderResult | 'moved'> {
    const { work: _, deadline, ...drawing } = call;
    const wasMoved = page.thread !== null;
    page.thread = null;
    const thread = this.#threadFor(page.accountId, wasMoved);
    const moving = new AbortController();
    Object.assign(page, { thread, moving, drawnSinceMs: null });
    this.endSlowPages();
    const onDrawing = () => {
      if (moving.signal.aborted) return;
      page.drawnSinceMs ??= this.#clock.elapsedMs();
      deadline.startWork(() => drawingTooSlowError(this.admission.retryAfterSeconds()));
      this.endSlowPages();
    };
    const task: RenderTask = { kind: 'render', ...drawing, deadlineMs: deadline.deadlineMs() };
    const clientGone = AbortSignal.any([ending, moving.signal]);
    const answer = thread.draw(task, { clientGone, onDrawing }).finally(() => {
      if (this.#retiringThreads.has(thread)) this.#stopThreadWhenFree(thread);
    });
    try {
      return await rejectOnAbort(answer, moving.signal);
    } catch (error) {
      if (moving.signal.aborted) return 'moved';
      throw error;
    } finally {
      this.#countWorkerTime(page, call.work);
    }
  }

  /**
   * Counts the time for which a browser drew a page, whatever the result. Wall time is used: the browser draws one page
   * at a time, with several processes whose CPU time would be costly to find.
   */
  #countWorkerTime({ accountId, drawnSinceMs }: PooledPage, work: WorkClass | undefined): void {
    if (work === 'job' || drawnSinceMs === null) return;
    this.#options.workerTime.recordCpuTime(accountId, this.#clock.elapsedMs() - drawnSinceMs);
  }

  /**
   * Records the result of a page. If its browser was killed because of the page, its account counts as slow, because
   * that delayed all others. The time of a drawn page becomes part of the usual time.
   */
  #recordResult({ accountId, drawnSinceMs }: PooledPage, answer: RenderResult): void {
    if (drawnSinceMs === null) return;
    const drawnMs = this.#clock.elapsedMs() - drawnSinceMs;
    if (answer.kind === 'rendered') {
      this.#usualTime.record(accountId, drawnMs);
      return;
    }
    const isLate = answer.reason === 'deadline' && drawnMs >= MIN_DELAYING_MS;
    if (isLate || answer.reason === 'memory') this.#options.onStopped(accountId);
  }

  /** The slots of a number of threads together with the spare one, and the most slots of one account. */
  #slotsOf(threads: number): { slots: number; slotsPerAccount: number } {
    const { slotsPerThread, spare } = this.#options;
    const all = spare === undefined ? threads : threads + 1;
    return { slots: all * slotsPerThread, slotsPerAccount: threads * slotsPerThread };
  }

  /**
   * Chooses the thread with the fewest pages. While other accounts are served, an account of unknown speed gets the
   * spare thread, so that nobody has to wait for its page. Other accounts get the spare thread in two cases: if its
   * browser already runs (starting one takes longer than most pages), or if the page was moved out of a blocked thread.
   */
  #threadFor(accountId: string, wasMoved: boolean): RenderThread {
    const { spare, workerTime } = this.#options;
    if (spare === undefined) return leastBusyOf(this.#threads);
    const threadsWithPages = this.#threads
      .concat(spare)
      .filter((thread) => this.#hasPageIn(thread, accountId));
    if (threadsWithPages.length >= this.#threads.length) return leastBusyOf(threadsWithPages);
    const isKnown = this.#usualTime.hasDrawn(accountId) || workerTime.isOnlyActiveAccount(accountId);
    if (!isKnown && spare.callCount === 0) return spare;
    const usable = spare.isWarm || wasMoved ? [...this.#threads, spare] : this.#threads;
    return leastBusyOf(usable);
  }

  #hasPageIn(thread: RenderThread, accountId: string): boolean {
    return this.#pages.values().some((page) => page.thread === thread && page.accountId === accountId);
  }

  /**
   * The longest time for which the page may be drawn. It depends on whether other accounts wait, or are served at all.
   */
  #maxDrawingMs(page: PooledPage): number {
    const { fairDrawingMs, workerTime } = this.#options;
    if (this.#keepsOthersWaiting(page)) return fairDrawingMs ?? this.#slowThresholdMs(MIN_SLOW_THRESHOLD_MS);
    if (fairDrawingMs !== undefined || workerTime.isOnlyActiveAccount(page.accountId)) return Infinity;
    const isKnown = this.#usualTime.hasDrawn(page.accountId);
    return isKnown ? MAX_DRAWING_BESIDE_OTHERS_MS : this.#slowThresholdMs(MIN_SLOW_BESIDE_OTHERS_MS);
  }

  /**
   * Whether a page of another account waits for this one: it has no slot, or is queued behind this page in its thread.
   * A page that an idle thread is about to draw does not count.
   */
  #keepsOthersWaiting({ accountId, thread }: PooledPage): boolean {
    const { waiting, jobsWaiting } = this.admission.stats();
    const hasQueue = waiting + jobsWaiting > 0;
    return this.#pages
      .values()
      .some(
        (other) =>
          other.drawnSinceMs === null &&
          other.accountId !== accountId &&
          (other.thread === null ? hasQueue : other.thread === thread),
      );
  }

  #slowThresholdMs(minMs: number): number {
    const usualMs = SLOW_THRESHOLD_FACTOR * this.#usualTime.medianMs();
    return Math.min(MAX_SLOW_THRESHOLD_MS, Math.max(minMs, usualMs));
  }

  /**
   * Ends a page for others, and moves it and the pages behind it out of its thread. Its account is reported at once:
   * the thread may begin another page of the same account before it answers this one.
   */
  #endPageForOthers(page: PooledPage): void {
    endPage(page, this.#options.fairDrawingMs === undefined ? 'withdrawn' : 'stopped');
    this.#options.onStopped(page.accountId);
    if (this.#options.spare === undefined) return;
    for (const inThread of this.#pages) if (inThread.thread === page.thread) inThread.moving.abort();
  }

  #stopThreadWhenFree(thread: RenderThread): void {
    if (thread.callCount > 0) return;
    this.#retiringThreads.delete(thread);
    void thread.stop();
  }
}

function leastBusyOf(threads: readonly RenderThread[]): RenderThread {
  return threads.reduce((least, other) => (other.callCount < least.callCount ? other : least));
}

function endPage(page: PooledPage, endedAs: 'stopped' | 'withdrawn'): void {
  if (page.endedAs !== null) return;
  page.endedAs = endedAs;
  page.ending.abort();
}

/** Number of accounts that are remembered, most recent first. */
const MAX_REMEMBERED_ACCOUNTS = 64;

/**
 * The usual time for drawing a page on this host. Each account counts once, so that no account raises it by its own
 * slow pages.
 */
export class UsualDrawingTime {
  /** The milliseconds that the last page of each account took, by account id. */
  readonly #lastDrawingMs = new LRUCache<string, number>({ max: MAX_REMEMBERED_ACCOUNTS });

  record(accountId: string, drawnMs: number): void {
    this.#lastDrawingMs.set(accountId, drawnMs);
  }

  /** Whether the account is remembered to have drawn a page. */
  hasDrawn(accountId: string): boolean {
    return this.#lastDrawingMs.has(accountId);
  }

  /** The median drawing time of the last page of each account; 0 before the first page. */
  medianMs(): number {
    const sorted = [...this.#lastDrawingMs.values()].sort((a, b) => a - b);
    // With two accounts, the quicker time counts, because the slower account may be the one that keeps the other
    // waiting.
    return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  }
}
