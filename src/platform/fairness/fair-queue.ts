/**
 * Those who wait, by their owner (an account, a network): first come, first served inside of an owner, and the owners
 * in turn.
 */
export interface FairQueue<T> {
  readonly size: number;
  /** Those who wait, by owner, in the order of their coming. */
  lines(): Iterable<readonly [owner: string, waiters: readonly T[]]>;
  /** How many of an owner wait. */
  sizeOf(owner: string): number;
  add(owner: string, waiter: T): void;
  /** A waiter that is not there is no fault: it may have been served just before. */
  remove(owner: string, waiter: T): void;
  /**
   * The next waiter: its owner holds the fewest slots and was served least recently. So an owner keeps several slots
   * only while no other owner waits.
   * @param slotsOf absent: all hold as many.
   * @param canServe absent: every waiter can be served; else the first one of an owner that can.
   */
  next(options?: {
    slotsOf?: (owner: string) => number;
    canServe?: (waiter: T) => boolean;
  }): { owner: string; waiter: T } | undefined;
  /** Takes out the waiter that `next` answered; its owner goes to the end. */
  serve(owner: string, waiter: T): void;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The first owner is the one whose last turn is longest ago. */
  const lines = new Map<string, T[]>();
  let size = 0;

  function remove(owner: string, waiter: T): void {
    const line = lines.get(owner) ?? [];
    const at = line.indexOf(waiter);
    if (at === -1) return;
    line.splice(at, 1);
    size -= 1;
    if (line.length === 0) lines.delete(owner);
  }

  return {
    get size() {
      return size;
    },
    lines: () => lines.entries(),
    sizeOf: (owner) => lines.get(owner)?.length ?? 0,
    add(owner, waiter) {
      const line = lines.get(owner);
      if (line === undefined) lines.set(owner, [waiter]);
      else line.push(waiter);
      size += 1;
    },
    remove,
    next({ slotsOf = () => 0, canServe = () => true } = {}) {
      let fewest = Number.POSITIVE_INFINITY;
      let chosen: { owner: string; waiter: T } | undefined;
      for (const [owner, line] of lines) {
        const slots = slotsOf(owner);
        if (slots >= fewest) continue;
        const waiter = line.find(canServe);
        if (waiter === undefined) continue;
        fewest = slots;
        chosen = { owner, waiter };
        if (slots === 0) break;
      }
      return chosen;
    },
    serve(owner, waiter) {
      remove(owner, waiter);
      const line = lines.get(owner);
      if (line === undefined) return;
      lines.delete(owner);
      lines.set(owner, line);
    },
  };
}
