import { type Clock, systemClock } from '../../platform/clock.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { FairQueue } from '../../platform/queues.ts';
import { poolFullError } from './failures.ts';
import {
  type AdmissionOptions,
  type AdmissionStats,
  type IncomingCall,
  type PoolSlot,
  type PoolSlotRequest,
  TakenSlots,
  type WaitingLimits,
  type WorkClass,
} from './slots.ts';
import { SpacedCallTimes } from './spaced-times.ts';

type CallRequest = Pick<PoolSlotRequest, 'accountId' | 'heldBytes'>;

interface WaitingRequest {
  request: PoolSlotRequest;
  /**
   * When a call was admitted, and when its body was complete, in milliseconds of the monotonic clock. They are equal
   * for a request that arrived with its body.
   */
  calledMs: number;
  arrivedMs: number;
  grant(slot: PoolSlot): void;
  refuse(reason: unknown): void;
}

interface ReceivingCall extends IncomingCall {
  accountId: string;
}

const LATEST_VALUE_WEIGHT = 0.1;
const movingAverage = (mean: number, latest: number) => mean + LATEST_VALUE_WEIGHT * (latest - mean);

const INITIAL_MEAN_SERVICE_MS = 200;
/** A queue of calls that has not been empty for longer than this counts as an overload. Before that, it is a burst. */
const MAX_BURST_MS = 1_000;
/** A call whose body is being received counts as waiting for at most this long. */
const MAX_COUNTED_RECEIVING_MS = 1_000;
/**
 * The longest total time of a queued call (for its body, its wait and its work), as a multiple of the longest allowed
 * wait. A call that would take longer is refused.
 */
const MAX_TOTAL_TIME_FACTOR = 1.3;
const MAX_RETRY_AFTER_SECONDS = 60;
/** The most calls that are served in a row while a job waits. The next slot goes to the job. */
const MAX_CALLS_IN_A_ROW = 3;
/** Added to the rank of an account that has to yield, so that it comes after all others. */
const YIELDING_RANK_OFFSET = 1e9;

/**
 * A queue in front of a number of slots and a memory budget. For jobs it is unbounded. For calls it is bounded in three
 * ways: by their number, by the bytes of their bodies, and in an overload by the time that a call would wait. A burst
 * is served as long as its deadlines allow. If the queue has not been empty for a second, the load is more than the
 * workers can do, and a longer queue would only make every response late.
 */
export class AdmissionQueue {
  readonly #limits: () => WaitingLimits;
  readonly #callsBesideJobs: boolean;
  readonly #mustYield: (accountId: string) => boolean;
  readonly #clock: Clock;
  #slots: number;
  #slotsPerAccount: number;
  #budgetBytes: number;
  readonly #queues = { call: new FairQueue<WaitingRequest>(), job: new FairQueue<WaitingRequest>() };
  /** Calls that were admitted before their bodies arrived and are still receiving them, the oldest first. */
  readonly #incomingCalls = new Set<ReceivingCall>();
  readonly #takenSlots = new TakenSlots();
  /**
   * Gives each call that was refused in an overload its own time at which it may be sent again. With the same time for
   * all, the calls would come back together, and most would be refused again.
   */
  readonly #returnTimes: SpacedCallTimes;
  #callsInARow = 0;
  #waitingBodyBytes = 0;
  /** The time since which at least one call has always been waiting; null while none waits. */
  #callsWaitSinceMs: number | null = null;
  #meanServiceMs = INITIAL_MEAN_SERVICE_MS;
  #meanWaitMs = 0;
  #idleResolvers: (() => void)[] = [];

  constructor(options: AdmissionOptions) {
    this.#limits = options.limits;
    this.#callsBesideJobs = options.callsBesideJobs ?? false;
    this.#mustYield = options.mustYield ?? (() => false);
    this.#slotsPerAccount = options.slotsPerAccount ?? Infinity;
    this.#clock = options.clock ?? systemClock;
    this.#returnTimes = new SpacedCallTimes(this.#clock, MAX_RETRY_AFTER_SECONDS * 1_000);
    this.#slots = options.slots;
    this.#budgetBytes = options.budgetBytes;
  }

  /**
   * Waits for a slot.
   * @throws provider_unavailable (capacity, with Retry-After) when the queue is full. A call that already waits can be
   * refused too, to make room for a call of an account with fewer waiting calls.
   * @throws the signal's reason when it aborts.
   */
  async acquire(request: PoolSlotRequest): Promise<PoolSlot> {
    request.signal.throwIfAborted();
    this.#stopCountingSlowBodies();
    const wasExpected = this.#incomingCalls.has(request.incoming as ReceivingCall);
    // The call no longer counts as one whose body is being received, even if another pool counted it.
    request.incoming?.end();
    if (this.#waitingCount() === 0 && this.#hasRoomFor(request)) return this.#takeSlot(request, 0);
    if (request.work !== 'job') {
      this.#makeRoom(request);
      if (!wasExpected) this.#refuseIfOverloaded(request);
    }
    return this.#waitForSlot(request);
  }

  /**
   * Admits a call before its body is received. In an overload, the call counts as waiting for a second at most, so that
   * slow senders do not fill the queue.
   * @throws provider_unavailable (capacity, with Retry-After) when the queue is full or overloaded.
   */
  admitIncoming(request: CallRequest): IncomingCall {
    if (this.#queues.call.size > 0 || this.#takenSlotsFor() >= this.#slots) {
      const hasRoom =
        !this.#isFullFor(request) || this.#queues.call.findExcessWaiter(request.accountId) !== undefined;
      if (!hasRoom) throw this.#queueFullError();
      this.#refuseIfOverloaded(request);
    }
    const incoming: ReceivingCall = {
      accountId: request.accountId,
      sinceMs: this.#clock.elapsedMs(),
      end: () => void this.#incomingCalls.delete(incoming),
    };
    this.#incomingCalls.add(incoming);
    return incoming;
  }

  /** The expected wait of a call that arrives now, in whole seconds from 1 to 60. */
  retryAfterSeconds(): number {
    const aheadMs = ((this.#queues.call.size + this.#takenSlots.count()) / this.#slots) * this.#meanServiceMs;
    return retryAfterSecondsOf(aheadMs);
  }

  /**
   * Changes the number of slots, of all and of one account, and the memory budget. Running work keeps its slot, so a
   * smaller number takes effect as work ends.
   */
  resize({
    slots,
    slotsPerAccount = this.#slotsPerAccount,
    budgetBytes = this.#budgetBytes,
  }: Pick<AdmissionOptions, 'slots' | 'slotsPerAccount'> & { budgetBytes?: number }): void {
    this.#slots = slots;
    this.#slotsPerAccount = slotsPerAccount;
    this.#budgetBytes = budgetBytes;
    this.#admitNext();
  }

  async whenIdle(): Promise<void> {
    if (this.#takenSlots.count() > 0 || this.#waitingCount() > 0)
      await new Promise<void>((resolve) => this.#idleResolvers.push(resolve));
  }

  stats(): AdmissionStats {
    return {
      slots: this.#slots,
      busy: this.#takenSlots.count(),
      waiting: this.#queues.call.size,
      jobsWaiting: this.#queues.job.size,
      reservedBytes: this.#takenSlots.reservedBytes(),
      budgetBytes: this.#budgetBytes,
      meanServiceMs: this.#meanServiceMs,
      meanWaitMs: this.#meanWaitMs,
    };
  }

  #waitingCount(): number {
    return this.#queues.call.size + this.#queues.job.size;
  }

  /**
   * The number of taken slots that limit a class of work. If calls run in addition to jobs, only the slots of calls
   * limit a call.
   */
  #takenSlotsFor(work: WorkClass = 'call'): number {
    return this.#callsBesideJobs && work === 'call'
      ? this.#takenSlots.ofClass(work)
      : this.#takenSlots.count();
  }

  #hasRoomFor({ accountId, bytes, work }: PoolSlotRequest): boolean {
    // Accounts with fewer slots come first in the queue. If the first one has all the slots that it may take, so have
    // the others.
    if (this.#takenSlots.ofAccount(accountId) >= this.#slotsPerAccount) return false;
    const hasMemory =
      this.#takenSlots.count() === 0 || this.#takenSlots.reservedBytes() + bytes <= this.#budgetBytes;
    return this.#takenSlotsFor(work) < this.#slots && hasMemory;
  }

  #takeSlot(request: PoolSlotRequest, queueMs: number): PoolSlot {
    const takenMs = this.#clock.elapsedMs();
    let isHeld = true;
    this.#takenSlots.take(request);
    this.#meanWaitMs = movingAverage(this.#meanWaitMs, queueMs);
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#takenSlots.giveBack(request);
      this.#meanServiceMs = movingAverage(this.#meanServiceMs, this.#clock.elapsedMs() - takenMs);
      this.#admitNext();
    };
    return { queueMs, release };
  }

  /**
   * The rank of an account in its queue. Accounts with fewer slots come first. An account that has to yield, because
   * its budget is used up, comes last.
   */
  readonly #rankOf = (accountId: string): number =>
    this.#takenSlots.ofAccount(accountId) + (this.#mustYield(accountId) ? YIELDING_RANK_OFFSET : 0);

  #nextWaiter(work: WorkClass) {
    return this.#queues[work].next({ slotsOf: this.#rankOf });
  }

  /** Whether a job waits although jobs do not hold all slots. */
  #jobNeedsSlot(): boolean {
    return this.#queues.job.size > 0 && this.#takenSlots.ofClass('job') < this.#slots;
  }

  /** Whether all waiting calls have to yield, while a waiting job does not. */
  #callsMustYieldToJob(): boolean {
    const [call, job] = [this.#nextWaiter('call'), this.#nextWaiter('job')];
    return (
      call !== undefined && job !== undefined && this.#mustYield(call.owner) && !this.#mustYield(job.owner)
    );
  }

  #nextWorkClass(): WorkClass {
    if (this.#queues.call.size === 0) return 'job';
    if (!this.#jobNeedsSlot()) return 'call';
    return this.#callsInARow >= MAX_CALLS_IN_A_ROW || this.#callsMustYieldToJob() ? 'job' : 'call';
  }

  /**
   * Serves requests in turn. A smaller request never overtakes a larger one that waits for memory, because the larger
   * one might then wait for ever.
   */
  #admitNext(): void {
    for (;;) {
      const work = this.#nextWorkClass();
      const next = this.#nextWaiter(work);
      if (next === undefined || !this.#hasRoomFor(next.waiter.request)) break;
      this.#callsInARow = work === 'call' && this.#jobNeedsSlot() ? this.#callsInARow + 1 : 0;
      this.#stopCountingWaiter(next.waiter);
      this.#queues[work].serve(next.owner, next.waiter);
      next.waiter.grant(this.#takeSlot(next.waiter.request, this.#clock.elapsedMs() - next.waiter.arrivedMs));
    }
    this.#nextWaiter(this.#nextWorkClass())?.waiter.request.prepare?.();
    if (this.#takenSlots.count() > 0 || this.#waitingCount() > 0) return;
    for (const resolve of this.#idleResolvers) resolve();
    this.#idleResolvers = [];
  }

  #waitForSlot(request: PoolSlotRequest): Promise<PoolSlot> {
    const { accountId, signal, work = 'call' } = request;
    return new Promise((resolve, reject) => {
      const giveUp = () => waiter.refuse(signal.reason);
      const grant = (slot: PoolSlot) => {
        signal.removeEventListener('abort', giveUp);
        resolve(slot);
      };
      const refuse = (reason: unknown) => {
        signal.removeEventListener('abort', giveUp);
        this.#stopCountingWaiter(waiter);
        this.#queues[work].remove(accountId, waiter);
        reject(reason);
        this.#admitNext();
      };
      const arrivedMs = this.#clock.elapsedMs();
      const calledMs = request.incoming?.sinceMs ?? arrivedMs;
      const waiter: WaitingRequest = { request, calledMs, arrivedMs, grant, refuse };
      this.#queues[work].add(accountId, waiter);
      if (work === 'call') {
        this.#waitingBodyBytes += request.heldBytes ?? 0;
        this.#callsWaitSinceMs ??= this.#clock.elapsedMs();
      }
      signal.addEventListener('abort', giveUp, { once: true });
      // The new call may overtake a job that waits for memory, so the queue is checked at once.
      this.#admitNext();
    });
  }

  /** Called before a waiting request leaves its queue, served or not. */
  #stopCountingWaiter({ request }: WaitingRequest): void {
    if (request.work === 'job') return;
    this.#waitingBodyBytes -= request.heldBytes ?? 0;
    if (this.#queues.call.size === 1) this.#callsWaitSinceMs = null;
  }

  /**
   * The expected wait in an overload, in milliseconds, if every waiting account keeps sending calls.
   * @param turns the number of waiting calls of the account, including this one.
   */
  #overloadWaitMs(turns: number, accounts: number): number {
    return (turns * accounts * this.#meanServiceMs) / this.#slots;
  }

  /** The expected wait of the next call of an account in an overload, and the time between two of its calls. */
  #overloadSpacingFor(accountId: string): { waitMs: number; spaceMs: number } {
    const accounts = new Set([accountId]);
    for (const [waitingAccount] of this.#queues.call.waitersByOwner()) accounts.add(waitingAccount);
    let ownCount = this.#queues.call.sizeOf(accountId);
    for (const call of this.#incomingCalls) {
      accounts.add(call.accountId);
      if (call.accountId === accountId) ownCount += 1;
    }
    return {
      waitMs: this.#overloadWaitMs(ownCount + 1, accounts.size),
      spaceMs: this.#overloadWaitMs(1, accounts.size),
    };
  }

  /**
   * Refuses waiting calls whose total time (body, wait and work) would be too long. Such calls remain from a burst
   * before an overload, or are delayed by accounts that have joined the queue. The next call of each account stays.
   */
  #refuseLateWaiters(longestWaitMs: number): void {
    const late: WaitingRequest[] = [];
    const waitingLines = [...this.#queues.call.waitersByOwner()];
    for (const [, waiters] of waitingLines) {
      let keptCount = 0;
      for (const waiter of waiters) {
        const passedMs = this.#clock.elapsedMs() - waiter.calledMs;
        const waitMs = this.#overloadWaitMs(keptCount + 1, waitingLines.length);
        const totalMs = passedMs + waitMs + this.#meanServiceMs;
        if (keptCount > 0 && totalMs > longestWaitMs * MAX_TOTAL_TIME_FACTOR) late.push(waiter);
        else keptCount += 1;
      }
    }
    const spaceMs = this.#overloadWaitMs(1, waitingLines.length);
    for (const waiter of late) {
      const { accountId } = waiter.request;
      const returnMs = this.#returnTimes.nextDelayMs(accountId, { waitMs: longestWaitMs, spaceMs });
      waiter.refuse(poolFullError(retryAfterSecondsOf(returnMs)));
    }
  }

  #stopCountingSlowBodies(): void {
    for (const call of this.#incomingCalls) {
      if (this.#clock.elapsedMs() - call.sinceMs < MAX_COUNTED_RECEIVING_MS) return;
      this.#incomingCalls.delete(call);
    }
  }

  #isOverloaded(): boolean {
    const sinceMs = this.#callsWaitSinceMs;
    return sinceMs !== null && this.#clock.elapsedMs() - sinceMs > MAX_BURST_MS;
  }

  #isFullFor({ heldBytes: bytes = 0 }: CallRequest): boolean {
    const { calls, heldBytes: mostHeldBytes = Infinity } = this.#limits();
    // A single call may wait, however large its body is.
    const holdsTooMuch =
      bytes > 0 && this.#waitingBodyBytes > 0 && this.#waitingBodyBytes + bytes > mostHeldBytes;
    return this.#queues.call.size >= calls || holdsTooMuch;
  }

  /**
   * Makes room in a full queue for a call, by refusing a waiting call of the account that has the most of them.
   * @throws provider_unavailable (capacity) when no account has more waiting calls.
   */
  #makeRoom(request: CallRequest): void {
    while (this.#isFullFor(request)) {
      const excess = this.#queues.call.findExcessWaiter(request.accountId);
      if (excess === undefined) throw this.#queueFullError();
      excess.waiter.refuse(this.#queueFullError());
    }
  }

  #queueFullError(): ApiError {
    return poolFullError(this.retryAfterSeconds());
  }

  /** @throws provider_unavailable (capacity) for a call that would wait for too long in an overload. */
  #refuseIfOverloaded({ accountId }: CallRequest): void {
    if (!this.#isOverloaded()) return;
    this.#stopCountingSlowBodies();
    const wait = this.#overloadSpacingFor(accountId);
    // If the usual work takes longer than the limit, one call may still wait for it.
    const limitMs = Math.max(this.#limits().waitMs ?? Infinity, this.#meanServiceMs);
    if (wait.waitMs <= limitMs) return;
    this.#refuseLateWaiters(limitMs);
    throw poolFullError(retryAfterSecondsOf(this.#returnTimes.nextDelayMs(accountId, wait)));
  }
}

function retryAfterSecondsOf(ms: number): number {
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(ms / 1000)));
}
