import type { Clock } from '../../platform/clock.ts';

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
  /** Calls are served first, but every fourth turn belongs to a waiting job. Absent: a call. */
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
  /** When it was let in, by the clock of the pools: from then on its caller waits. */
  readonly sinceMs: number;
  /** Stops counting the call as one that will wait. A second call does nothing. */
  end(): void;
}

/** The limits of the queue of calls. Jobs wait without a limit. */
export interface WaitingLimits {
  /** Number of calls that may wait. */
  calls: number;
  /** Bytes of the bodies of waiting calls; absent: any number. */
  heldBytes?: number;
  /** Longest wait in an overload, in milliseconds: calls that would wait longer are refused. Absent: no limit. */
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

export interface AdmissionOptions {
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
}
