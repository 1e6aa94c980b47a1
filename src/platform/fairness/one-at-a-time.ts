import { createFairQueue } from './fair-queue.ts';

/** Runs one piece of work at a time, by turns of the owners. */
export function createOneAtATime() {
  const turns = createFairQueue<() => void>();
  let isBusy = false;
  return {
    /** Resolves when it is the owner's turn, which lasts until `endTurn`. */
    async takeTurn(owner: string): Promise<void> {
      if (isBusy) await new Promise<void>((resolve) => turns.add(owner, resolve));
      isBusy = true;
    },
    endTurn(): void {
      const next = turns.next();
      isBusy = next !== undefined;
      if (next === undefined) return;
      turns.serve(next.owner, next.waiter);
      next.waiter();
    },
    /** Number of waiters of an owner. */
    waitingOf: (owner: string): number => turns.sizeOf(owner),
  };
}
