import { type Clock, systemClock } from '../../platform/clock.ts';
import { createFairQueue } from '../../platform/queues/fair-queue.ts';
import { capacity } from './failures.ts';

/** The client of a call waits for its answer; nobody waits for a job. */
export type WorkClass = 'call' | 'job';

/** A slot of a pool, taken by one piece of work. */
export interface Slot {
  /** Time from the request to the slot, in milliseconds. */
  queueMs: number;
  /** Frees the slot. It is called when the work has ended, not when its client has gone. A second call does nothing. */
  release(): void;
}

export interface SlotRequest {
  /** The account that the work is for; accounts are served in turn. */
  accountId: string;
  /** Calls are served first, but every fourth turn is a job's where one waits. Absent: a call. */
  work?: WorkClass | undefined;
  /** Estimated memory of the work, in bytes. Work that exceeds the whole budget runs alone. */
  bytes: number;
  /** Memory of the request while it waits, in bytes: the body of a call. */
  heldBytes?: number;
  /** The call that `expect` let in: `acquire` does not refuse it for an overload again. */
  incoming?: IncomingCall | undefined;
  /** Called once or more when the request is next in its queue, so that its input is read before its turn. */
  prepare?: (() => void) | undefined;
  /** Ends the waiting; acquire rejects with its reason. */
  signal: AbortSignal;
}

/** A call that was let in and whose body is still being received. */
export interface IncomingCall {
  /** Stops counting the call as one that will wait. A second call does nothing. */
  end(): void;
}

type CallRequest = Pick<SlotRequest, 'accountId' | 'heldBytes'>;

/** The limits of the queue of calls. Jobs wait without a limit. */
export interface WaitingLimits {
  /** Number of calls that may wait. */
  calls: number;
  /** Bytes of the bodies of waiting calls; absent: any number. */
  heldBytes?: number;
  /** Longest wait in an overload, in milliseconds: calls that would wait longer are refused. Absent: none is. */
  waitMs?: number;
}

export interface AdmissionStats {
  slots: number;
  /** Slots that are taken. They are more than `slots` while calls run beside jobs, and after a resize. */
  busy: number;
  /** Number of calls that wait. */
  waiting: number;
  /** Number of jobs that wait. */
  jobsWaiting: number;
  reservedBytes: number;
  budgetBytes: number;
  /** Recent mean time that a slot was taken, in milliseconds. */
  meanServiceMs: number;
  /** Recent mean wait for a slot, in milliseconds. */
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
   * Lets in a call whose body is still to be received. In an overload, the call counts as waiting for a second at most,
   * so that slow senders do not fill the queue.
   * @throws provider_unavailable (capacity, with Retry-After) when the queue takes no such call.
   */
  expect(request: CallRequest): IncomingCall;
  /** Expected wait of a call that arrives now, in whole seconds from 1 to 60. */
  retryAfterSeconds(): number;
  /**
   * Changes the number of slots and the budget of memory. Running work keeps its slot, so a smaller number takes
   * effect as work ends.
   */
  resize(size: { slots: number; budgetBytes?: number }): void;
  /** Resolves when no work runs and none waits. */
  idle(): Promise<void>;
  stats(): AdmissionStats;
}

interface Waiter {
  request: SlotRequest;
  arrivedMs: number;
  grant(slot: Slot): void;
  refuse(reason: unknown): void;
}

interface CountedCall extends IncomingCall {
  accountId: string;
  sinceMs: number;
}

/** Weight of the latest value in an exponential moving average. */
const LATEST_WEIGHT = 0.1;
const withLatest = (mean: number, latest: number) => mean + LATEST_WEIGHT * (latest - mean);

const FIRST_GUESS_MS = 200;
/** A queue of calls that has not been empty for longer than this is an overload; before that, it is a burst. */
const OVERLOAD_AFTER_MS = 1_000;
/** Time for which a call counts as waiting while its body is received. */
const RECEIVING_MS = 1_000;
/** Factor by which the wait of a queued call may exceed the limit, because the wait is an estimate. */
const LENIENCE = 1.3;
const MAX_RETRY_SECONDS = 60;
/** Calls that are served in a row while a job waits; the next turn is the job's. */
const CALLS_IN_A_ROW = 3;
/** More slots than an account ever has. */
const LAST = 1e9;

export function createAdmission(options: {
  slots: number;
  budgetBytes: number;
  /** Read at each call, because an operator may change them. */
  limits: () => WaitingLimits;
  /**
   * Whether calls ignore the slots that jobs hold, so that up to twice `slots` are taken. A job begins only while calls
   * and jobs together hold fewer than `slots`.
   */
  callsBesideJobs?: boolean;
  /** Whether an account gets only slots that no other account waits for. Absent: none does. */
  givesWay?: (accountId: string) => boolean;
  clock?: Clock;
}): Admission {
  const { limits, callsBesideJobs = false, givesWay = () => false, clock = systemClock } = options;
  let { slots, budgetBytes } = options;
  const queues = { call: createFairQueue<Waiter>(), job: createFairQueue<Waiter>() };
  /** Calls whose bodies are being received, the oldest first. */
  const incomingCalls = new Set<CountedCall>();
  /** Slots taken, by account. */
  const taken = new Map<string, number>();
  let callsInARow = 0;
  const atWork: Record<WorkClass, number> = { call: 0, job: 0 };
  let reservedBytes = 0;
  /** Bytes of the bodies of waiting calls. */
  let heldBytes = 0;
  /** Start of the time in which calls have always been waiting; null while none waits. */
  let callsWaitSinceMs: number | null = null;
  let meanServiceMs = FIRST_GUESS_MS;
  let meanWaitMs = 0;
  let idlers: (() => void)[] = [];

  const slotsOf = (accountId: string) => taken.get(accountId) ?? 0;
  /** The rank of an account in its queue: whoever has the fewest slots is next, and whoever gives way is last. */
  const rankOf = (accountId: string) => slotsOf(accountId) + (givesWay(accountId) ? LAST : 0);
  const nextOf = (work: WorkClass) => queues[work].next({ slotsOf: rankOf });
  const waiting = () => queues.call.size + queues.job.size;
  const busy = () => atWork.call + atWork.job;

  /** Slots that are taken, as seen by work of this class. */
  const takenFor = (work: WorkClass = 'call') => (callsBesideJobs && work === 'call' ? atWork.call : busy());

  function fits({ bytes, work }: SlotRequest): boolean {
    return takenFor(work) < slots && (busy() === 0 || reservedBytes + bytes <= budgetBytes);
  }

  function count(accountId: string, change: 1 | -1): void {
    const ofAccount = slotsOf(accountId) + change;
    if (ofAccount === 0) taken.delete(accountId);
    else taken.set(accountId, ofAccount);
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

  /** Whether a job waits although jobs do not hold all slots. */
  const jobNeedsSlot = () => queues.job.size > 0 && atWork.job < slots;

  /** Whether the calls that wait give way, and a job that waits does not. */
  function onlyCallsGiveWay(): boolean {
    const [call, job] = [nextOf('call'), nextOf('job')];
    return call !== undefined && job !== undefined && givesWay(call.owner) && !givesWay(job.owner);
  }

  function classWhoseTurnItIs(): WorkClass {
    if (queues.call.size === 0) return 'job';
    if (!jobNeedsSlot()) return 'call';
    return callsInARow >= CALLS_IN_A_ROW || onlyCallsGiveWay() ? 'job' : 'call';
  }

  /**
   * Serves requests in turn. A smaller request never overtakes a larger one that lacks memory, because the larger one
   * might then never run.
   */
  function admitNext(): void {
    for (;;) {
      const work = classWhoseTurnItIs();
      const next = nextOf(work);
      if (next === undefined || !fits(next.waiter.request)) break;
      callsInARow = work === 'call' && jobNeedsSlot() ? callsInARow + 1 : 0;
      leaveQueue(next.waiter);
      queues[work].serve(next.owner, next.waiter);
      next.waiter.grant(take(next.waiter.request, clock.elapsedMs() - next.waiter.arrivedMs));
    }
    nextOf(classWhoseTurnItIs())?.waiter.request.prepare?.();
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
          leaveQueue(waiter);
          queues[work].remove(accountId, waiter);
          reject(reason);
          admitNext();
        },
      };
      queues[work].add(accountId, waiter);
      if (work === 'call') {
        heldBytes += request.heldBytes ?? 0;
        callsWaitSinceMs ??= clock.elapsedMs();
      }
      signal.addEventListener('abort', giveUp, { once: true });
      // A call may go before a job that waits for memory.
      admitNext();
    });
  }

  /** Called before a waiter leaves its queue, served or not. */
  function leaveQueue({ request }: Waiter): void {
    if (request.work === 'job') return;
    heldBytes -= request.heldBytes ?? 0;
    if (queues.call.size === 1) callsWaitSinceMs = null;
  }

  /**
   * The wait of a call in an overload, in milliseconds, on the assumption that every waiting account goes on sending.
   * @param turns of the call's account, up to and including that of the call.
   */
  function overloadWaitMs(turns: number, accounts: number): number {
    return (turns * accounts * meanServiceMs) / slots;
  }

  function expectedWaitMs(accountId: string): number {
    const accounts = new Set([accountId]);
    for (const [waitingAccount] of queues.call.lines()) accounts.add(waitingAccount);
    let own = queues.call.sizeOf(accountId);
    for (const call of incomingCalls) {
      accounts.add(call.accountId);
      if (call.accountId === accountId) own += 1;
    }
    return overloadWaitMs(own + 1, accounts.size);
  }

  /**
   * Refuses waiting calls whose wait, past and expected, exceeds the limit. The burst before an overload leaves such
   * calls. The next call of each account stays.
   */
  function refuseLateWaiters(longestWaitMs: number): void {
    const late: Waiter[] = [];
    const waitingLines = [...queues.call.lines()];
    for (const [, waiters] of waitingLines) {
      let turns = 0;
      for (const waiter of waiters) {
        const waitedMs = clock.elapsedMs() - waiter.arrivedMs;
        const waitMs = waitedMs + overloadWaitMs(turns + 1, waitingLines.length);
        if (turns > 0 && waitMs > longestWaitMs * LENIENCE) late.push(waiter);
        else turns += 1;
      }
    }
    for (const waiter of late) waiter.refuse(capacity(secondsOf(longestWaitMs)));
  }

  function stopCountingSlowBodies(): void {
    for (const call of incomingCalls) {
      if (clock.elapsedMs() - call.sinceMs < RECEIVING_MS) return;
      incomingCalls.delete(call);
    }
  }

  function isOverloaded(): boolean {
    return callsWaitSinceMs !== null && clock.elapsedMs() - callsWaitSinceMs > OVERLOAD_AFTER_MS;
  }

  /** @throws provider_unavailable (capacity) for a call for which the queue is full. */
  function refuseIfFull({ heldBytes: bytes = 0 }: CallRequest): void {
    const { calls, heldBytes: mostHeldBytes = Infinity } = limits();
    // A single call may wait, however large its body is.
    const holdsTooMuch = bytes > 0 && heldBytes > 0 && heldBytes + bytes > mostHeldBytes;
    if (queues.call.size >= calls || holdsTooMuch) throw capacity(retryAfterSeconds());
  }

  /** @throws provider_unavailable (capacity) for a call that would wait for too long in an overload. */
  function refuseIfOverloaded({ accountId }: CallRequest): void {
    if (!isOverloaded()) return;
    stopCountingSlowBodies();
    const waitMs = expectedWaitMs(accountId);
    // Where one piece of work takes longer than the limit, one call may wait for it.
    const limitMs = Math.max(limits().waitMs ?? Infinity, meanServiceMs);
    if (waitMs <= limitMs) return;
    refuseLateWaiters(limitMs);
    throw capacity(secondsOf(waitMs));
  }

  function expect(request: CallRequest): IncomingCall {
    if (queues.call.size > 0 || takenFor() >= slots) {
      refuseIfFull(request);
      refuseIfOverloaded(request);
    }
    const incoming: CountedCall = {
      accountId: request.accountId,
      sinceMs: clock.elapsedMs(),
      end: () => void incomingCalls.delete(incoming),
    };
    incomingCalls.add(incoming);
    return incoming;
  }

  function retryAfterSeconds(): number {
    const aheadMs = ((queues.call.size + busy()) / slots) * meanServiceMs;
    return secondsOf(aheadMs);
  }

  function secondsOf(ms: number): number {
    return Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(ms / 1000)));
  }

  return {
    async acquire(request) {
      request.signal.throwIfAborted();
      stopCountingSlowBodies();
      const wasExpected = incomingCalls.has(request.incoming as CountedCall);
      // Another pool may have counted the call.
      request.incoming?.end();
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
      waiting: queues.call.size,
      jobsWaiting: queues.job.size,
      reservedBytes,
      budgetBytes,
      meanServiceMs,
      meanWaitMs,
    }),
  };
}
