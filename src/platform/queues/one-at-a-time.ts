import { FairQueue } from './fair-queue.ts';

/** A queue that admits one piece of work at a time. Owners take turns. */
export class FairMutex {
  readonly #turns = new FairQueue<() => void>();
  #isBusy = false;

  /** Resolves when it is the owner's turn. The turn lasts until `endTurn` is called. */
  async takeTurn(owner: string): Promise<void> {
    if (this.#isBusy) await new Promise<void>((resolve) => this.#turns.add(owner, resolve));
    this.#isBusy = true;
  }

  endTurn(): void {
    const next = this.#turns.next();
    this.#isBusy = next !== undefined;
    if (next === undefined) return;
    this.#turns.serve(next.owner, next.waiter);
    next.waiter();
  }

  /** Number of waiters of an owner. */
  waitingOf(owner: string): number {
    return this.#turns.sizeOf(owner);
  }
}
