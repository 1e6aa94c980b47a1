import type { RenderAnswer, RenderTask } from '../../../workers/render/protocol.ts';
import type { Clock } from '../../platform/clock.ts';
import { Admission } from '../images/admission.ts';
import { unlessAborted } from '../images/deadline.ts';
import type { Slot, WorkClass } from '../images/slots.ts';
import type { RenderThread } from './thread.ts';
import { UsualTime } from './usual-time.ts';

interface RenderPoolOptions {
  threads: readonly RenderThread[];
  /** Pages in a thread at once: one page is drawn while the previous one is encoded. */
  slotsPerThread: number;
  queueLimit: number;
  /** How long a page may be drawn while pages of other accounts wait, in milliseconds. */
  fairDrawingMs: number;
  /**
   * How long a page of an account that has drawn no page yet may be drawn while pages of other accounts wait: it is
   * then withdrawn. Absent: as long as any other.
   */
  newcomerDrawingMs?: number;
  /** Called when a page of this account was stopped or moved for others, or exceeded its time or memory. */
  onStopped: (accountId: string) => void;
  /**
   * Returns the thread that replaces one whose page is slow while others wait; null while there is none, and `review`
   * is called once there is. Absent: other pages wait for a slow page until `fairDrawingMs`.
   */
  relieve?: (blocked: RenderThread) => RenderThread | null;
  clock: Clock;
}

/** A page to draw. */
export interface PageToDraw {
  accountId: string;
  work: WorkClass | undefined;
  /** Ends the waiting and the drawing when the deadline has passed or the client has gone. */
  signal: AbortSignal;
  /** Awaits the slot (see Deadline.waiting). */
  waiting<T>(slot: Promise<T>): Promise<T>;
  /** Makes the task, once the page has its slot. */
  task(): RenderTask;
  /** Called when the drawing begins, and again when it is restarted. */
  onDrawing(): void;
}

export type PoolOutcome =
  | { kind: 'answered'; answer: RenderAnswer; queueMs: number }
  /** The page was stopped for others, because it took long. */
  | { kind: 'stopped' }
  /**
   * The page has to be drawn again in another pool: it was slow while others waited, or another page of its account
   * was.
   */
  | { kind: 'withdrawn' };

/** Render threads with their queue, in which no page keeps the others waiting for long. */
export interface RenderPool extends Pick<Admission, 'retryAfterSeconds' | 'stats' | 'idle'> {
  /** @throws ApiError capacity when the queue is full; the signal's reason; Error when the thread was lost. */
  draw(page: PageToDraw): Promise<PoolOutcome>;
  /** Withdraws the pages of an account whose drawing has not begun; their outcome is `withdrawn`. */
  withdraw(accountId: string): void;
  /** Checks again whether a page keeps others waiting. */
  review(): void;
  /** The threads that draw at present. */
  threads(): readonly RenderThread[];
  /** Replaces the threads. A removed thread ends once its pages are finished. */
  resize(threads: readonly RenderThread[]): void;
}

/** Drawing time from which a killed page counts as a burden to others. */
const BURDEN_FROM_MS = 1_000;

/**
 * Lower bound of the time from which a page is slow, however quick the others are: restarting it elsewhere costs about
 * as much.
 */
const SLOW_FROM_MS = 300;
/** Upper bound of the same time, however slow the others are. */
const MAX_SLOW_FROM_MS = 2_000;
const SLOW_FROM_USUAL_TIMES = 4;

interface PooledPage {
  accountId: string;
  /** The thread that draws it, or will draw it after another page; null while it has no slot. */
  thread: RenderThread | null;
  /** The start of its drawing; null while it waits. */
  drawnSinceMs: number | null;
  /** Ends it from within the pool. */
  ending: AbortController;
  /** Moves it out of its thread. */
  moving: AbortController;
  endedAs: 'stopped' | 'withdrawn' | null;
}

export function createRenderPool(options: RenderPoolOptions): RenderPool {
  const { fairDrawingMs, newcomerDrawingMs = Number.POSITIVE_INFINITY, clock } = options;
  let { threads } = options;
  /** Removed threads that still have pages. */
  const retiring = new Set<RenderThread>();
  // Memory is not reserved, because it is bounded by the number of browsers, which draw one page at a time.
  const admission = new Admission({
    slots: threads.length * options.slotsPerThread,
    budgetBytes: Number.MAX_SAFE_INTEGER,
    limits: () => ({ calls: options.queueLimit }),
    clock,
  });
  const usual = new UsualTime();
  const pooledPages = new Set<PooledPage>();
  let cancelReview: (() => void) | undefined;

  async function draw(page: PageToDraw): Promise<PoolOutcome> {
    const ending = new AbortController();
    const pooled: PooledPage = {
      accountId: page.accountId,
      thread: null,
      drawnSinceMs: null,
      ending,
      moving: new AbortController(),
      endedAs: null,
    };
    pooledPages.add(pooled);
    review();
    try {
      return await drawPooled(page, pooled);
    } catch (error) {
      if (pooled.endedAs !== null && error === ending.signal.reason) return { kind: pooled.endedAs };
      throw error;
    } finally {
      pooledPages.delete(pooled);
      review();
    }
  }

  async function drawPooled(page: PageToDraw, pooled: PooledPage): Promise<PoolOutcome> {
    const { accountId, work } = page;
    const ending = AbortSignal.any([page.signal, pooled.ending.signal]);
    const slot = await page.waiting(admission.acquire({ accountId, work, bytes: 0, signal: ending }));
    if (ending.aborted) {
      slot.release();
      ending.throwIfAborted();
    }
    const answer = await drawIn(slot, page, pooled, ending);
    noteBurden(pooled, answer);
    noteUsual(pooled, answer);
    if (pooled.endedAs !== null && answer.kind !== 'rendered') return { kind: pooled.endedAs };
    return { kind: 'answered', answer, queueMs: slot.queueMs };
  }

  /**
   * Draws the page. The slot stays taken until the thread has actually answered, even if the caller has stopped
   * waiting.
   */
  async function drawIn(
    slot: Slot,
    page: PageToDraw,
    pooled: PooledPage,
    ending: AbortSignal,
  ): Promise<RenderAnswer> {
    try {
      for (;;) {
        ending.throwIfAborted();
        const answer = await drawOnce(page, pooled, ending);
        if (answer !== 'moved') return answer;
      }
    } finally {
      slot.release();
    }
  }

  async function drawOnce(
    page: PageToDraw,
    pooled: PooledPage,
    ending: AbortSignal,
  ): Promise<RenderAnswer | 'moved'> {
    const thread = threads.reduce((least, other) => (other.busy < least.busy ? other : least));
    const moving = new AbortController();
    Object.assign(pooled, { thread, moving, drawnSinceMs: null });
    const onDrawing = () => {
      if (moving.signal.aborted) return;
      pooled.drawnSinceMs ??= clock.elapsedMs();
      page.onDrawing();
      review();
    };
    const task = page.task();
    const clientGone = AbortSignal.any([ending, moving.signal]);
    const answer = thread.call(task, task.deadlineMs, { clientGone, onDrawing }).finally(() => {
      if (retiring.has(thread)) endWhenFree(thread);
    });
    try {
      return await unlessAborted(answer, moving.signal);
    } catch (error) {
      if (moving.signal.aborted) return 'moved';
      throw error;
    }
  }

  /** Marks the account of a page whose browser was killed because of it: it cost all others time. */
  function noteBurden({ accountId, drawnSinceMs }: PooledPage, answer: RenderAnswer): void {
    if (answer.kind !== 'render_failure' || drawnSinceMs === null) return;
    const isLate = answer.reason === 'deadline' && clock.elapsedMs() - drawnSinceMs >= BURDEN_FROM_MS;
    if (isLate || answer.reason === 'memory') options.onStopped(accountId);
  }

  function noteUsual({ accountId, drawnSinceMs }: PooledPage, answer: RenderAnswer): void {
    if (answer.kind === 'rendered' && drawnSinceMs !== null)
      usual.record(accountId, clock.elapsedMs() - drawnSinceMs);
  }

  /**
   * Where other pages wait, moves slow pages out of their threads and stops pages that were drawn for `fairDrawingMs`;
   * schedules the next check.
   */
  function review(): void {
    cancelReview?.();
    cancelReview = undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const pooled of pooledPages) {
      const { drawnSinceMs, endedAs } = pooled;
      if (drawnSinceMs === null || endedAs !== null || !keepsOthersWaiting(pooled)) continue;
      const waitMs = untilCheckMs(pooled, drawnSinceMs);
      if (waitMs === null) continue;
      if (waitMs <= 0) endForOthers(pooled, 'stopped');
      else nextMs = Math.min(nextMs, waitMs);
    }
    if (nextMs !== Number.POSITIVE_INFINITY) cancelReview = clock.after(Math.ceil(nextMs), review);
  }

  /** Milliseconds until this page has to be checked again; null when it was withdrawn. */
  function untilCheckMs(pooled: PooledPage, drawnSinceMs: number): number | null {
    const drawnMs = clock.elapsedMs() - drawnSinceMs;
    const untilStoppedMs = fairDrawingMs - drawnMs;
    const untilSlowMs = slowFromMs() - drawnMs;
    if (untilSlowMs > 0) return Math.min(untilSlowMs, untilStoppedMs);
    if (takeOut(pooled)) return null;
    if (usual.knows(pooled.accountId)) return untilStoppedMs;
    const untilWithdrawnMs = newcomerDrawingMs - drawnMs;
    if (untilWithdrawnMs > 0) return Math.min(untilWithdrawnMs, untilStoppedMs);
    endForOthers(pooled, 'withdrawn');
    return null;
  }

  /**
   * Whether a page of another account waits for this one: because it has no slot, or is behind this one in its thread.
   * A page that an idle thread is about to draw does not count.
   */
  function keepsOthersWaiting({ accountId, thread }: PooledPage): boolean {
    return pooledPages
      .values()
      .some(
        (other) =>
          other.drawnSinceMs === null &&
          other.accountId !== accountId &&
          (other.thread === null || other.thread === thread),
      );
  }

  function slowFromMs(): number {
    const usualMs = SLOW_FROM_USUAL_TIMES * usual.medianMs();
    return Math.min(MAX_SLOW_FROM_MS, Math.max(SLOW_FROM_MS, usualMs));
  }

  /** Replaces the thread that draws a slow page by a fresh one, so that no other page waits for it. */
  function takeOut(slow: PooledPage): boolean {
    const { thread: blocked } = slow;
    const relief = blocked === null ? null : (options.relieve?.(blocked) ?? null);
    if (relief === null) return false;
    threads = threads.map((thread) => (thread === blocked ? relief : thread));
    endForOthers(slow, 'withdrawn');
    for (const pooled of pooledPages) if (pooled.thread === blocked) pooled.moving.abort();
    return true;
  }

  /**
   * The account is reported at once, because the thread goes on to the next page, which may be of the same account,
   * before it answers this one.
   */
  function endForOthers(pooled: PooledPage, how: 'stopped' | 'withdrawn'): void {
    end(pooled, how);
    options.onStopped(pooled.accountId);
  }

  function end(pooled: PooledPage, how: 'stopped' | 'withdrawn'): void {
    if (pooled.endedAs !== null) return;
    pooled.endedAs = how;
    pooled.ending.abort();
  }

  function withdraw(accountId: string): void {
    for (const pooled of pooledPages) {
      if (pooled.accountId === accountId && pooled.drawnSinceMs === null) end(pooled, 'withdrawn');
    }
  }

  function resize(next: readonly RenderThread[]): void {
    const removed = threads.filter((thread) => !next.includes(thread));
    threads = next;
    admission.resize({ slots: next.length * options.slotsPerThread });
    for (const thread of removed) {
      retiring.add(thread);
      endWhenFree(thread);
    }
  }

  function endWhenFree(thread: RenderThread): void {
    if (thread.busy > 0) return;
    retiring.delete(thread);
    void thread.stop();
  }

  return {
    ...{ draw, withdraw, review, resize },
    threads: () => threads,
    retryAfterSeconds: () => admission.retryAfterSeconds(),
    stats: () => admission.stats(),
    idle: () => admission.idle(),
  };
}
