import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { capacity } from './failures.ts';

/** A place at work. */
export interface Seat {
  /** How long it was waited for. */
  queueMs: number;
  /** Gives it back, once the work has really ended. A second call does nothing. */
  release(): void;
}

export interface SeatRequest {
  /** Whose work this is; accounts are served in turn. */
  accountId: string;
  /** Memory the work is estimated to take. More than the whole budget is admitted alone. */
  bytes: number;
  /** Ends the waiting; acquire rejects with its reason. */
  signal: AbortSignal;
}

export interface AdmissionStats {
  seats: number;
  busy: number;
  waiting: number;
  reservedBytes: number;
  budgetBytes: number;
  /** Recent mean of how long a seat was taken. */
  meanServiceMs: number;
  /** Recent mean of how long a seat was waited for. */
  meanWaitMs: number;
}

/** A waiting room of bounded length before a number of seats and a budget of memory. */
export interface Admission {
  /**
   * Waits for a seat.
   * @throws provider_unavailable (capacity, with Retry-After) when the waiting room is full; the signal's reason when it aborts.
   */
  acquire(request: SeatRequest): Promise<Seat>;
  /** When a place is to be expected for somebody who came now: whole seconds, 1 to 60. */
  retryAfterSeconds(): number;
  /** Resolves when nobody works and nobody waits. */
  idle(): Promise<void>;
  stats(): AdmissionStats;
}

interface Waiter {
  request: SeatRequest;
  arrivedMs: number;
  grant(seat: Seat): void;
}

/** A mean that forgets: how much the latest value weighs in it. */
const LATEST_WEIGHT = 0.1;
const withLatest = (mean: number, latest: number) => mean + LATEST_WEIGHT * (latest - mean);

const FIRST_GUESS_MS = 200;
const LONGEST_RETRY_SECONDS = 60;

export function createAdmission(options: {
  seats: number;
  budgetBytes: number;
  queueLimit: number;
  clock?: Clock;
}): Admission {
  const { seats, budgetBytes, queueLimit, clock = systemClock } = options;
  /** Accounts that wait, the next to be served first; a served account goes to the end. */
  const lanes = new Map<string, Waiter[]>();
  let waiting = 0;
  let busy = 0;
  let reservedBytes = 0;
  let meanServiceMs = FIRST_GUESS_MS;
  let meanWaitMs = 0;
  let idlers: (() => void)[] = [];

  const fits = (bytes: number) => busy < seats && (busy === 0 || reservedBytes + bytes <= budgetBytes);

  function take(bytes: number, queueMs: number): Seat {
    const takenMs = clock.nowMs();
    let held = true;
    busy += 1;
    reservedBytes += bytes;
    meanWaitMs = withLatest(meanWaitMs, queueMs);
    return {
      queueMs,
      release() {
        if (!held) return;
        held = false;
        busy -= 1;
        reservedBytes -= bytes;
        meanServiceMs = withLatest(meanServiceMs, clock.nowMs() - takenMs);
        admitNext();
      },
    };
  }

  /**
   * The account whose turn it is goes first even when a smaller pass of another would fit: a large one that is
   * overtaken for as long as small ones come would never run.
   */
  function admitNext(): void {
    for (const [accountId, lane] of lanes) {
      const waiter = lane[0];
      if (waiter === undefined || !fits(waiter.request.bytes)) break;
      leave(accountId, waiter);
      if (lane.length > 0) {
        lanes.delete(accountId);
        lanes.set(accountId, lane);
      }
      waiter.grant(take(waiter.request.bytes, clock.nowMs() - waiter.arrivedMs));
    }
    if (busy === 0 && waiting === 0) {
      for (const resolve of idlers) resolve();
      idlers = [];
    }
  }

  function leave(accountId: string, waiter: Waiter): void {
    const lane = lanes.get(accountId) ?? [];
    lane.splice(lane.indexOf(waiter), 1);
    waiting -= 1;
    if (lane.length === 0) lanes.delete(accountId);
  }

  function wait(request: SeatRequest): Promise<Seat> {
    const { accountId, signal } = request;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        leave(accountId, waiter);
        reject(signal.reason);
        admitNext();
      };
      const waiter: Waiter = {
        request,
        arrivedMs: clock.nowMs(),
        grant(seat) {
          signal.removeEventListener('abort', giveUp);
          resolve(seat);
        },
      };
      const lane = lanes.get(accountId);
      if (lane === undefined) lanes.set(accountId, [waiter]);
      else lane.push(waiter);
      waiting += 1;
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  function retryAfterSeconds(): number {
    const aheadMs = ((waiting + busy) / seats) * meanServiceMs;
    return Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(aheadMs / 1000)));
  }

  return {
    async acquire(request) {
      request.signal.throwIfAborted();
      if (waiting === 0 && fits(request.bytes)) return take(request.bytes, 0);
      if (waiting >= queueLimit) throw capacity(retryAfterSeconds());
      return wait(request);
    },
    retryAfterSeconds,
    idle: () =>
      busy === 0 && waiting === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve)),
    stats: () => ({ seats, busy, waiting, reservedBytes, budgetBytes, meanServiceMs, meanWaitMs }),
  };
}
