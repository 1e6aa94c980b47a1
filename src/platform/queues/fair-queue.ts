/**
 * A queue of waiters by owner (an account, a network). The waiters of one owner are served in the order of arrival, the
 * owners in turn.
 */
export interface FairQueue<T> {
  readonly size: number;
  /** The waiters of each owner, in the order of arrival. */
  lines(): Iterable<readonly [owner: string, waiters: readonly T[]]>;
  /** Number of waiters of an owner. */
  sizeOf(owner: string): number;
  add(owner: string, waiter: T): void;
  /** Removes a waiter. One that has just been served is ignored. */
  remove(owner: string, waiter: T): void;
  /**
   * The next waiter: that of the owner with the fewest slots; among equals, of the one served least recently. So an
   * owner has several slots only while no other owner waits.
   * @param slotsOf slots of an owner. Absent: the same for all.
   * @param canServe whether a waiter can be served now; the first such waiter of each owner counts. Absent: all can.
   */
  next(options?: {
    slotsOf?: (owner: string) => number;
    canServe?: (waiter: T) => boolean;
  }): { owner: string; waiter: T } | undefined;
  /** Removes the waiter that `next` returned; its owner moves to the end. */
  serve(owner: string, waiter: T): void;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The queue of each owner, the least recently served owner first. */
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
