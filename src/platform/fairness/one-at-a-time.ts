import { createFairQueue } from './fair-queue.ts';

/** Work that is done one piece at a time, by turns of its owners. */
export interface OneAtATime {
  /** Resolves when it is the owner's turn; nobody else has one until `endTurn`. */
  takeTurn(owner: string): Promise<void>;
  endTurn(): void;
  /** How many of an owner wait for their turn. */
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
