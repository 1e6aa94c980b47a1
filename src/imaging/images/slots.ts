import type { Clock } from '../../platform/clock.ts';

/** Whether a client waits for the work (`call`), or nobody does (`job`). */
export type WorkClass = 'call' | 'job';

/** A slot of a pool, taken by one piece of work. */
export interface PoolSlot {
  /** Milliseconds from the request to the slot. */
  queueMs: number;
  /** Frees the slot. Call it when the work has ended, not when its client has gone. A second call does nothing. */
  release(): void;
}

export interface PoolSlotRequest {
  /** The account for which the work is done. Accounts are served in turn. */
  accountId: string;
  /**
   * The class of the work. Calls are served first, but every fourth slot goes to a waiting job. It is a call by
   * default.
   */
  work?: WorkClass | undefined;
  /** The estimated memory of the work, in bytes. Work that exceeds the whole budget runs alone. */
  bytes: number;
  /** Bytes that the request holds while it waits: the body of a call. */
  heldBytes?: number;
  /** The admission that `admitIncoming` granted. `acquire` does not refuse the call for an overload again. */
  incoming?: IncomingCall | undefined;
  /** Called at least once when the request is next in its queue, so that its input can be read in advance. */
  prepare?: (() => void) | undefined;
  /** Ends the wait. `acquire` then rejects with the signal's reason. */
  signal: AbortSignal;
}

/** A call that was admitted before its body arrived, and is still receiving it. */
export interface IncomingCall {
  /** When the call was admitted, by the clock of the pools. Its caller waits from then on. */
  readonly sinceMs: number;
  /** Stops counting the call as waiting. A second call does nothing. */
  end(): void;
}

/** The limits of the queue of calls. Jobs wait without a limit. */
export interface WaitingLimits {
  /** The most calls that may wait. */
  calls: number;
  /** The most bytes of the bodies of waiting calls; no limit if absent. */
  heldBytes?: number;
  /**
   * The longest wait in an overload, in milliseconds. Calls that would wait longer are refused. There is no limit if
   * absent.
   */
  waitMs?: number;
}

export interface AdmissionStats {
  slots: number;
  /** The number of taken slots. It can exceed `slots` while calls run in addition to jobs, and after a resize. */
  busy: number;
  /** The number of calls that wait for a slot. */
  waiting: number;
  /** The number of jobs that wait for a slot. */
  jobsWaiting: number;
  reservedBytes: number;
  budgetBytes: number;
  /** Recent mean time for which a slot was taken, in milliseconds. */
  meanServiceMs: number;
  /** Recent mean wait for a slot, in milliseconds. */
  meanWaitMs: number;
}

export interface AdmissionOptions {
  slots: number;
  budgetBytes: number;
  /** The limits. They are read at each call, because an operator may change them. */
  limits: () => WaitingLimits;
  /**
   * Whether calls ignore the slots that jobs hold, so that up to twice `slots` are taken. A job begins only while calls
   * and jobs together hold fewer than `slots`.
   */
  callsBesideJobs?: boolean;
  /**
   * Whether an account has to yield, so that it gets only slots that no other account waits for. If absent, no account
   * has to.
   */
  mustYield?: (accountId: string) => boolean;
  /** The most slots of one account, so that it never holds all of them for long; no limit if absent. */
  slotsPerAccount?: number;
  clock?: Clock;
}

/** The slots and the memory that the running work of a pool holds, by account and by class of work. */
export class TakenSlots {
  readonly #ofAccounts = new Map<string, number>();
  readonly #ofClasses: Record<WorkClass, number> = { call: 0, job: 0 };
  #reservedBytes = 0;

  take(request: PoolSlotRequest): void {
    this.#change(request, 1);
  }

  giveBack(request: PoolSlotRequest): void {
    this.#change(request, -1);
  }

  count(): number {
    return this.#ofClasses.call + this.#ofClasses.job;
  }

  ofAccount(accountId: string): number {
    return this.#ofAccounts.get(accountId) ?? 0;
  }

  ofClass(work: WorkClass): number {
    return this.#ofClasses[work];
  }

  /** The estimated memory of the running work. */
  reservedBytes(): number {
    return this.#reservedBytes;
  }

  #change({ accountId, bytes, work = 'call' }: PoolSlotRequest, by: 1 | -1): void {
    this.#ofClasses[work] += by;
    this.#reservedBytes += by * bytes;
    const ofAccount = this.ofAccount(accountId) + by;
    if (ofAccount === 0) this.#ofAccounts.delete(accountId);
    else this.#ofAccounts.set(accountId, ofAccount);
  }
}
