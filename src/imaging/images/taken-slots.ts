import type { PoolSlotRequest, WorkClass } from './slots.ts';

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
