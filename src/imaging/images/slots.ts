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
  /** Stops counting the call as one that will wait. A second call does nothing. */
  end(): void;
}

/** What the running work of a pool holds: slots by account and by class of work, and memory. */
export class TakenSlots {
  readonly #ofAccounts = new Map<string, number>();
  readonly #ofClasses: Record<WorkClass, number> = { call: 0, job: 0 };
  #reservedBytes = 0;

  take(request: SlotRequest): void {
    this.#change(request, 1);
  }

  giveBack(request: SlotRequest): void {
    this.#change(request, -1);
  }

  busy(): number {
    return this.#ofClasses.call + this.#ofClasses.job;
  }

  ofAccount(accountId: string): number {
    return this.#ofAccounts.get(accountId) ?? 0;
  }

  ofClass(work: WorkClass): number {
    return this.#ofClasses[work];
  }

  /** Memory of the running work, as estimated. */
  reservedBytes(): number {
    return this.#reservedBytes;
  }

  #change({ accountId, bytes, work = 'call' }: SlotRequest, by: 1 | -1): void {
    this.#ofClasses[work] += by;
    this.#reservedBytes += by * bytes;
    const ofAccount = this.ofAccount(accountId) + by;
    if (ofAccount === 0) this.#ofAccounts.delete(accountId);
    else this.#ofAccounts.set(accountId, ofAccount);
  }
}
