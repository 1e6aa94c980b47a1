import type { Clock } from '../../platform/clock/clock.ts';
import { systemClock } from '../../platform/clock/clock.ts';
import { createFairQueue } from '../../platform/fairness/fair-queue.ts';
import { capacity } from './failures.ts';

/** A call has somebody who waits for its answer; a job has not. */
export type WorkClass = 'call' | 'job';

/** Room for one piece of work. */
export interface Slot {
  /** How long it was waited for. */
  queueMs: number;
  /** Gives it back, once the work has really ended. A second call does nothing. */
  release(): void;
}

export interface SlotRequest {
  /** Whose work this is; accounts are served in turn. */
  accountId: string;
  /** Calls are served first, but a job at least every fourth time; absent: a call. */
  work?: WorkClass | undefined;
  /** Memory the work is estimated to take. More than the whole budget is admitted alone. */
  bytes: number;
  /** Memory that it keeps while it waits, in bytes: the body of a call. */
  heldBytes?: number;
  /** Of a call that was expected: an overload does not refuse it again. */
  arrival?: Arrival | undefined;
  /** Called when it is next in line, once or more, so that its input can be read before its turn. */
  prepare?: () => void;
  /** Ends the waiting; acquire rejects with its reason. */
  signal: AbortSignal;
}

/** A call that was let in, and whose body is under way. */
export interface Arrival {
  /** Gives its place up, at the end of the call. A second call does nothing. */
  end(): void;
}

type CallRequest = Pick<SlotRequest, 'accountId' | 'heldBytes'>;

/** How many calls may wait, and how long. Jobs wait without a limit. */
export interface WaitingLimits {
  calls: number;
  /** Bytes that calls may keep while they wait; absent: any number. */
  heldBytes?: number;
  /** In an overload, calls that would wait longer are refused, in milliseconds; absent: none is. */
  waitMs?: number;
}

export interface AdmissionStats {
  slots: number;
  /** At work now: more than there are slots while calls work beside jobs, or after a resize. */
  busy: number;
  /** Calls that wait. */
  waiting: number;
  /** Jobs that wait. */
  jobsWaiting: number;
  reservedBytes: number;
  budgetBytes: number;
  /** Recent mean of how long a slot was taken. */
  meanServiceMs: number;
  /** Recent mean of how long a slot was waited for. */
  meanWaitMs: number;
}

/**
 * A queue before a number of slots and a budget of memory, without a bound for jobs. For calls it is bounded in three
 * ways: by their number, by the bytes of their bodies, and in an overload by the time that a call would wait. A burst
 * is served as long as its deadlines allow; where the queue has not been empty for a second and calls still come, the
 * load is more than the workers can do, and a longer queue would only make every answer late.
 */
export interface Admission {
  /**
   * Waits for a slot.
   * @throws provider_unavailable (capacity, with Retry-After) when the queue takes no such call; the signal's reason
   *   when it aborts.
   */
  acquire(request: SlotRequest): Promise<Slot>;
  /**
   * Lets in a call whose body is still to be read. In an overload it counts as one that waits, for a second at most: a
   * slow sender keeps no place.
   * @throws provider_unavailable (capacity, with Retry-After) when the queue takes no such call.
   */
  expect(request: CallRequest): Arrival;
  /** When a slot is to be expected for a call that came now: whole seconds, 1 to 60. */
  retryAfterSeconds(): number;
  /**
   * Changes the number of slots and the memory; work under way keeps its own, so that fewer come into force as work
   * ends.
   */
  resize(size: { slots: number; budgetBytes?: number }): void;
  /** Resolves when nobody works and nobody waits. */
  idle(): Promise<void>;
  stats(): AdmissionStats;
}

interface Waiter {
  request: SlotRequest;
  arrivedMs: number;
  grant(slot: Slot): void;
  refuse(reason: unknown): void;
}

interface Arriving extends Arrival {
  accountId: string;
  sinceMs: number;
}

/** A mean that forgets: how much the latest value weighs in it. */
const LATEST_WEIGHT = 0.1;
const withLatest = (mean: number, latest: number) => mean + LATEST_WEIGHT * (latest - mean);

const FIRST_GUESS_MS = 200;
/** A queue of calls that has not been empty for this long is an overload, and no burst. */
const OVERLOAD_AFTER_MS = 1_000;
/** Time for which a place is kept for a body. */
const ARRIVAL_MS = 1_000;
/** How much longer than the limit a call that was let in may wait, because the limit is held by an estimate. */
const LENIENCE = 1.3;
const LONGEST_RETRY_SECONDS = 60;
/** Calls that are served in a row while a job waits: the next turn is the job's. */
const CALLS_IN_A_ROW = 3;

export function createAdmission(options: {
  slots: number;
  budgetBytes: number;
  /** Asked at each call, because an operator may change them. */
  limits: () => WaitingLimits;
  /**
   * A call does not wait for the slots that jobs have: it works beside them, so that up to twice as many are at work as
   * there are slots. A job takes a slot only where neither a call nor another job has it.
   */
  callsBesideJobs?: boolean;
  clock?: Clock;
}): Admission {
  const { limits, callsBesideJobs = false, clock = systemClock } = options;
  let { slots, budgetBytes } = options;
  const lines = { call: createFairQueue<Waiter>(), job: createFairQueue<Waiter>() };
  /** Calls whose bodies are under way, the oldest first. */
  const arrivals = new Set<Arriving>();
  /** Slots that each account has now. */
  const held = new Map<string, number>();
  let callsInARow = 0;
  const atWork: Record<WorkClass, number> = { call: 0, job: 0 };
  let reservedBytes = 0;
  /** Kept by calls that wait. */
  let heldBytes = 0;
  /** Since when calls wait without a break; null while none waits. */
  let callsWaitSinceMs: number | null = null;
  let meanServiceMs = FIRST_GUESS_MS;
  let meanWaitMs = 0;
  let idlers: (() => void)[] = [];

  const slotsOf = (accountId: string) => held.get(accountId) ?? 0;
  const waiting = () => lines.call.size + lines.job.size;
  const busy = () => atWork.call + atWork.job;

  /** Work that has the slots which work of this class could take. */
  const inTheWayOf = (work: WorkClass = 'call') =>
    callsBesideJobs && work === 'call' ? atWork.call : busy();

  function fits({ bytes, work }: SlotRequest): boolean {
    return inTheWayOf(work) < slots && (busy() === 0 || reservedBytes + bytes <= budgetBytes);
  }

  function count(accountId: string, change: 1 | -1): void {
    const ofAccount = slotsOf(accountId) + change;
    if (ofAccount === 0) held.delete(accountId);
    else held.set(accountId, ofAccount);
  }

  function take({ accountId, bytes, work = 'call' }: SlotRequest, queueMs: number): Slot {
    const takenMs = clock.elapsedMs();
    let isHeld = true;
    atWork[work] += 1;
    reservedBytes += bytes;
    count(accountId, 1);
    meanWaitMs = withLatest(meanWaitMs, queueMs);
    return {
      queueMs,
      release() {
        if (!isHeld) return;
        isHeld = false;
        atWork[work] -= 1;
        reservedBytes -= bytes;
        count(accountId, -1);
        meanServiceMs = withLatest(meanServiceMs, clock.elapsedMs() - takenMs);
        admitNext();
      },
    };
  }

  /** Some job waits that a free slot would help. */
  const jobsLack = () => lines.job.size > 0 && atWork.job < slots;

  function classWhoseTurnItIs(): WorkClass {
    if (lines.call.size === 0) return 'job';
    return jobsLack() && callsInARow >= CALLS_IN_A_ROW ? 'job' : 'call';
  }

  /**
   * The one whose turn it is goes first even when a smaller pass of another would fit: a large one that is overtaken
   * for as long as small ones come would never run.
   */
  function admitNext(): void {
    for (;;) {
      const work = classWhoseTurnItIs();
      const next = lines[work].next({ slotsOf });
      if (next === undefined || !fits(next.waiter.request)) break;
      callsInARow = work === 'call' && jobsLack() ? callsInARow + 1 : 0;
      leaveLine(next.waiter);
      lines[work].serve(next.owner, next.waiter);
      next.waiter.grant(take(next.waiter.request, clock.elapsedMs() - next.waiter.arrivedMs));
    }
    lines[classWhoseTurnItIs()].next({ slotsOf })?.waiter.request.prepare?.();
    if (busy() > 0 || waiting() > 0) return;
    for (const resolve of idlers) resolve();
    idlers = [];
  }

  function wait(request: SlotRequest): Promise<Slot> {
    const { accountId, signal, work = 'call' } = request;
    return new Promise((resolve, reject) => {
      const giveUp = () => waiter.refuse(signal.reason);
      const waiter: Waiter = {
        request,
        arrivedMs: clock.elapsedMs(),
        grant(slot) {
          signal.removeEventListener('abort', giveUp);
          resolve(slot);
        },
        refuse(reason) {
          signal.removeEventListener('abort', giveUp);
          leaveLine(waiter);
          lines[work].remove(accountId, waiter);
          reject(reason);
          admitNext();
        },
      };
      lines[work].add(accountId, waiter);
      if (work === 'call') {
        heldBytes += request.heldBytes ?? 0;
        callsWaitSinceMs ??= clock.elapsedMs();
      }
      signal.addEventListener('abort', giveUp, { once: true });
      // A call may go before a job that waits for memory.
      admitNext();
    });
  }

  /** Called before a waiter leaves its line, served or not. */
  function leaveLine({ request }: Waiter): void {
    if (request.work === 'job') return;
    heldBytes -= request.heldBytes ?? 0;
    if (lines.call.size === 1) callsWaitSinceMs = null;
  }

  /**
   * How long calls wait in an overload, in milliseconds: accounts take turns, and those that wait now go on to send.
   * @param turns of the account, until that of the call.
   */
  function waitOfMs(turns: number, accounts: number): number {
    return (turns * accounts * meanServiceMs) / slots;
  }

  function expectedWaitMs(accountId: string): number {
    const accounts = new Set([accountId]);
    for (const [waitingAccount] of lines.call.lines()) accounts.add(waitingAccount);
    let own = lines.call.sizeOf(accountId);
    for (const arrival of arrivals) {
      accounts.add(arrival.accountId);
      if (arrival.accountId === accountId) own += 1;
    }
    return waitOfMs(own + 1, accounts.size);
  }

  /**
   * Refuses calls that would wait for longer than the limit in all: those of the burst that began an overload. The next
   * call of each account stays.
   */
  function refuseLateWaiters(longestWaitMs: number): void {
    const late: Waiter[] = [];
    const waitingLines = [...lines.call.lines()];
    for (const [, waiters] of waitingLines) {
      let turns = 0;
      for (const waiter of waiters) {
        const waitedMs = clock.elapsedMs() - waiter.arrivedMs;
        const waitMs = waitedMs + waitOfMs(turns + 1, waitingLines.length);
        if (turns > 0 && waitMs > longestWaitMs * LENIENCE) late.push(waiter);
        else turns += 1;
      }
    }
    for (const waiter of late) waiter.refuse(capacity(secondsOf(longestWaitMs)));
  }

  function dropLateArrivals(): void {
    for (const arrival of arrivals) {
      if (clock.elapsedMs() - arrival.sinceMs < ARRIVAL_MS) return;
      arrivals.delete(arrival);
    }
  }

  function isOverloaded(): boolean {
    return callsWaitSinceMs !== null && clock.elapsedMs() - callsWaitSinceMs > OVERLOAD_AFTER_MS;
  }

  /** @throws provider_unavailable (capacity) for a call for which the queue is full. */
  function refuseIfFull({ heldBytes: bytes = 0 }: CallRequest): void {
    const { calls, heldBytes: mostHeldBytes = Infinity } = limits();
    // However large its body is, one call may wait.
    const holdsTooMuch = bytes > 0 && heldBytes > 0 && heldBytes + bytes > mostHeldBytes;
    if (lines.call.size >= calls || holdsTooMuch) throw capacity(retryAfterSeconds());
  }

  /** @throws provider_unavailable (capacity) for a call that would wait for too long in an overload. */
  function refuseIfOverloaded({ accountId }: CallRequest): void {
    if (!isOverloaded()) return;
    dropLateArrivals();
    const waitMs = expectedWaitMs(accountId);
    // Where a single piece of work takes longer than the limit, one call may wait for it.
    const limitMs = Math.max(limits().waitMs ?? Infinity, meanServiceMs);
    if (waitMs <= limitMs) return;
    refuseLateWaiters(limitMs);
    throw capacity(secondsOf(waitMs));
  }

  function expect(request: CallRequest): Arrival {
    if (lines.call.size > 0 || inTheWayOf() >= slots) {
      refuseIfFull(request);
      refuseIfOverloaded(request);
    }
    const arrival: Arriving = {
      accountId: request.accountId,
      sinceMs: clock.elapsedMs(),
      end: () => void arrivals.delete(arrival),
    };
    arrivals.add(arrival);
    return arrival;
  }

  function retryAfterSeconds(): number {
    const aheadMs = ((lines.call.size + busy()) / slots) * meanServiceMs;
    return secondsOf(aheadMs);
  }

  function secondsOf(ms: number): number {
    return Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(ms / 1000)));
  }

  return {
    async acquire(request) {
      request.signal.throwIfAborted();
      dropLateArrivals();
      const wasExpected = arrivals.has(request.arrival as Arriving);
      // The place may have been kept by another pool.
      request.arrival?.end();
      if (waiting() === 0 && fits(request)) return take(request, 0);
      if (request.work !== 'job') {
        refuseIfFull(request);
        if (!wasExpected) refuseIfOverloaded(request);
      }
      return wait(request);
    },
    expect,
    retryAfterSeconds,
    resize(size) {
      ({ slots, budgetBytes = budgetBytes } = size);
      admitNext();
    },
    idle: () =>
      busy() === 0 && waiting() === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve)),
    stats: () => ({
      slots,
      busy: busy(),
      waiting: lines.call.size,
      jobsWaiting: lines.job.size,
      reservedBytes,
      budgetBytes,
      meanServiceMs,
      meanWaitMs,
    }),
  };
}
