import { FairQueue } from './fair-queue.ts';

/** Admits one piece of work at a time, with the owners in turn. */
export class OneAtATime {
  readonly #turns = new FairQueue<() => void>();
  #isBusy = false;

  /** Resolves when it is the owner's turn, which lasts until `endTurn`. */
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
