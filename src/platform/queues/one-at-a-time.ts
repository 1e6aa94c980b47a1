import { createFairQueue } from './fair-queue.ts';

/** Admits one piece of work at a time, with the owners in turn. */
export interface OneAtATime {
  /** Resolves when it is the owner's turn, which lasts until `endTurn`. */
  takeTurn(owner: string): Promise<void>;
  endTurn(): void;
  /** Number of waiters of an owner. */
  waitingOf(owner: string): number;
}

export function createOneAtATime(): OneAtATime {
  const turns = createFairQueue<() => void>();
  let isBusy = false;
  return {
    async takeTurn(owner) {
      if (isBusy) await new Promise<void>((resolve) => turns.add(owner, resolve));
      isBusy = true;
    },
    endTurn() {
      const next = turns.next();
      isBusy = next !== undefined;
      if (next === undefined) return;
      turns.serve(next.owner, next.waiter);
      next.waiter();
    },
    waitingOf: (owner) => turns.sizeOf(owner),
  };
}
