import type { RenderAnswer, RenderTask } from '../../workers/protocol.ts';
import { createAdmission, type Seat, type WorkClass } from './admission.ts';
import { systemClock } from './clock.ts';
import type { RenderThread } from './render-thread.ts';

export interface RenderLaneOptions {
  threads: readonly RenderThread[];
  /** Pages in a thread at once: one is drawn while the one before it is encoded. */
  seatsPerThread: number;
  queueLimit: number;
  /** How long a page is drawn while pages of other accounts wait. */
  fairDrawingMs: number;
  /** A page of this account was stopped, for others or because its time was over. */
  onStopped: (accountId: string) => void;
}

/** What a page needs of its lane. */
export interface LanePage {
  accountId: string;
  work: WorkClass | undefined;
  /** Ends the waiting and the drawing: its time is over, or its client went away. */
  signal: AbortSignal;
  /** Awaits the place (see Patience.waiting). */
  waiting<T>(place: Promise<T>): Promise<T>;
  /** The task, made when its place is there. */
  task(): RenderTask;
  /** Called once, when the drawing begins. */
  onTurn(): void;
}

export type LaneOutcome =
  | { kind: 'answered'; answer: RenderAnswer; queueMs: number }
  /** It was drawn for so long that it made room for others. */
  | { kind: 'stopped' }
  /** It was not drawn: another page of its account was stopped, and it is to be drawn elsewhere. */
  | { kind: 'withdrawn' };

/** Render threads with their waiting room, where no page keeps the others waiting for long. */
export interface RenderLane {
  /** @throws ApiError capacity when the waiting room is full; the signal's reason; Error when the thread was lost. */
  draw(page: LanePage): Promise<LaneOutcome>;
  /** Takes out the pages of an account that are not drawn yet; their outcome is `withdrawn`. */
  withdraw(accountId: string): void;
  /** Draws with these threads from now on; one that is left out ends with the pages that it has. */
  resize(threads: readonly RenderThread[]): void;
  retryAfterSeconds(): number;
  /** Places taken, and calls that wait for one. */
  stats(): { busy: number; waiting: number };
  /** Resolves when nobody draws and nobody waits. */
  idle(): Promise<void>;
}

/** A page that was killed sooner than this was no burden to others. */
const BURDEN_FROM_MS = 1_000;

interface Visit {
  accountId: string;
  /** Null while it waits, `performance.now()` of its turn afterwards. */
  drawnSinceMs: number | null;
  /** Ends it from within the lane. */
  leaving: AbortController;
  endedAs: 'stopped' | 'withdrawn' | null;
}

export function createRenderLane(options: RenderLaneOptions): RenderLane {
  const { fairDrawingMs } = options;
  let { threads } = options;
  /** Threads that are taken out, and still have pages. */
  const retiring = new Set<RenderThread>();
  // Memory is bounded by the number of browsers, which draw a page at a time: nothing to reserve here.
  const admission = createAdmission({
    seats: threads.length * options.seatsPerThread,
    budgetBytes: Number.MAX_SAFE_INTEGER,
    queueLimit: options.queueLimit,
  });
  const visits = new Set<Visit>();
  let timer: (() => void) | undefined;

  function end(visit: Visit, how: 'stopped' | 'withdrawn'): void {
    if (visit.endedAs !== null) return;
    visit.endedAs = how;
    visit.leaving.abort();
  }

  /** Told at once: the thread goes on to the next page, which may be of the same account, before it answers this one. */
  function stop(visit: Visit): void {
    end(visit, 'stopped');
    options.onStopped(visit.accountId);
  }

  const keepsOthersWaiting = ({ accountId }: Visit) =>
    visits.values().some((other) => other.drawnSinceMs === null && other.accountId !== accountId);

  /** Stops the pages that have had their share while others wait, and comes again when the next one will have had it. */
  function shareOut(): void {
    timer?.();
    timer = undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const visit of visits) {
      if (visit.drawnSinceMs === null || visit.endedAs !== null || !keepsOthersWaiting(visit)) continue;
      const leftMs = visit.drawnSinceMs + fairDrawingMs - performance.now();
      if (leftMs <= 0) stop(visit);
      else nextMs = Math.min(nextMs, leftMs);
    }
    if (nextMs !== Number.POSITIVE_INFINITY) timer = systemClock.after(Math.ceil(nextMs), shareOut);
  }

  /** The seat stays taken until the thread has really answered, however long its caller waits. */
  async function drawIn(
    seat: Seat,
    page: LanePage,
    visit: Visit,
    ending: AbortSignal,
  ): Promise<RenderAnswer> {
    const thread = threads.reduce((least, other) => (other.busy < least.busy ? other : least));
    const onTurn = () => {
      visit.drawnSinceMs = performance.now();
      page.onTurn();
      shareOut();
    };
    try {
      const task = page.task();
      return await thread.call(task, task.deadlineMs, { client: ending, onTurn });
    } finally {
      seat.release();
      if (retiring.has(thread)) endWhenFree(thread);
    }
  }

  function endWhenFree(thread: RenderThread): void {
    if (thread.busy > 0) return;
    retiring.delete(thread);
    void thread.stop();
  }

  /** A page whose browser was killed after a while, at its deadline or for a client that left, cost everybody time. */
  function noteBurden({ accountId, drawnSinceMs }: Visit, answer: RenderAnswer): void {
    const wasKilled = answer.kind === 'render_failure' && answer.reason === 'deadline';
    if (!wasKilled || drawnSinceMs === null || performance.now() - drawnSinceMs < BURDEN_FROM_MS) return;
    options.onStopped(accountId);
  }

  async function visitOf(page: LanePage, visit: Visit): Promise<LaneOutcome> {
    const { accountId, work } = page;
    const ending = AbortSignal.any([page.signal, visit.leaving.signal]);
    const seat = await page.waiting(admission.acquire({ accountId, work, bytes: 0, signal: ending }));
    if (ending.aborted) {
      seat.release();
      ending.throwIfAborted();
    }
    const answer = await drawIn(seat, page, visit, ending);
    noteBurden(visit, answer);
    if (visit.endedAs !== null && answer.kind !== 'rendered') return { kind: visit.endedAs };
    return { kind: 'answered', answer, queueMs: seat.queueMs };
  }

  return {
    async draw(page) {
      const leaving = new AbortController();
      const visit: Visit = { accountId: page.accountId, drawnSinceMs: null, leaving, endedAs: null };
      visits.add(visit);
      shareOut();
      try {
        return await visitOf(page, visit);
      } catch (error) {
        if (visit.endedAs !== null && error === leaving.signal.reason) return { kind: visit.endedAs };
        throw error;
      } finally {
        visits.delete(visit);
        shareOut();
      }
    },
    withdraw(accountId) {
      for (const visit of visits) {
        if (visit.accountId === accountId && visit.drawnSinceMs === null) end(visit, 'withdrawn');
      }
    },
    resize(next) {
      const left = threads.filter((thread) => !next.includes(thread));
      threads = next;
      admission.resize(next.length * options.seatsPerThread);
      for (const thread of left) {
        retiring.add(thread);
        endWhenFree(thread);
      }
    },
    retryAfterSeconds: () => admission.retryAfterSeconds(),
    stats() {
      const { busy, waiting } = admission.stats();
      return { busy, waiting };
    },
    idle: () => admission.idle(),
  };
}
