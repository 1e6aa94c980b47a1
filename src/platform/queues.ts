/**
 * A queue of waiters by owner (an account, a network). The waiters of one owner are served in the order of arrival, the
 * owners in turn.
 */
export class FairQueue<T> {
  /** The queue of each owner, the least recently served owner first. */
  readonly #waitersByOwner = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The waiters of each owner, in the order of arrival. */
  waitersByOwner(): Iterable<readonly [owner: string, waiters: readonly T[]]> {
    return this.#waitersByOwner.entries();
  }

  /** The number of waiters of one owner. */
  sizeOf(owner: string): number {
    return this.#waitersByOwner.get(owner)?.length ?? 0;
  }

  add(owner: string, waiter: T): void {
    const waiters = this.#waitersByOwner.get(owner);
    if (waiters === undefined) this.#waitersByOwner.set(owner, [waiter]);
    else waiters.push(waiter);
    this.#size += 1;
  }

  /** Removes a waiter. A waiter that has already been served is ignored. */
  remove(owner: string, waiter: T): void {
    const waiters = this.#waitersByOwner.get(owner) ?? [];
    const at = waiters.indexOf(waiter);
    if (at === -1) return;
    waiters.splice(at, 1);
    this.#size -= 1;
    if (waiters.length === 0) this.#waitersByOwner.delete(owner);
  }

  /**
   * The next waiter. It is a waiter of the owner with the fewest slots; among several such owners, of the one that was
   * served least recently. An owner therefore has several slots only while no other owner waits.
   * @param slotsOf the number of slots of an owner. By default, it is equal for all owners.
   * @param canServe whether a waiter can be served now. Only the first such waiter of each owner counts. By default,
   *   all waiters can.
   */
  next({
    slotsOf = () => 0,
    canServe = () => true,
  }: {
    slotsOf?: (owner: string) => number;
    canServe?: (waiter: T) => boolean;
  } = {}): { owner: string; waiter: T } | undefined {
    let fewest = Number.POSITIVE_INFINITY;
    let chosen: { owner: string; waiter: T } | undefined;
    for (const [owner, waiters] of this.#waitersByOwner) {
      const slots = slotsOf(owner);
      if (slots >= fewest) continue;
      const waiter = waiters.find(canServe);
      if (waiter === undefined) continue;
      fewest = slots;
      chosen = { owner, waiter };
      if (slots === 0) break;
    }
    return chosen;
  }

  /**
   * The last waiter of the owner with the most waiters. It can be refused to make room for a waiter of `other`.
   * Undefined if `other`, with one waiter more, would have at least as many.
   */
  findExcessWaiter(other: string): { owner: string; waiter: T } | undefined {
    let most = this.sizeOf(other) + 1;
    let excess: { owner: string; waiter: T } | undefined;
    for (const [owner, waiters] of this.#waitersByOwner) {
      const last = waiters.at(-1);
      if (last === undefined || waiters.length <= most) continue;
      most = waiters.length;
      excess = { owner, waiter: last };
    }
    return excess;
  }

  /** Removes the waiter that `next` returned, and moves its owner to the end. */
  serve(owner: string, waiter: T): void {
    this.remove(owner, waiter);
    const waiters = this.#waitersByOwner.get(owner);
    if (waiters === undefined) return;
    this.#waitersByOwner.delete(owner);
    this.#waitersByOwner.set(owner, waiters);
  }
}

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

  /** The number of waiters of an owner. */
  waitingOf(owner: string): number {
    return this.#turns.sizeOf(owner);
  }
}

/** The length of the pause after a turn, as a multiple of the turn. */
const PAUSE_FACTOR = 2;
/** The longest pause. A turn may have been slow only because the machine is busy. */
const MAX_PAUSE_MS = 400;

/**
 * Long work, one piece at a time per process. Owners take turns. A pause follows each turn. It is twice as long as the
 * turn, so that two thirds of the event loop are left to small calls.
 */
export class PacedWork {
  readonly #turns = new FairMutex();

  /** Resolves when it is the owner's turn. The returned function ends the turn. */
  async takeTurn(owner: string): Promise<() => void> {
    await this.#turns.takeTurn(owner);
    const startedMs = performance.now();
    return () => {
      const pauseMs = Math.min(PAUSE_FACTOR * (performance.now() - startedMs), MAX_PAUSE_MS);
      setTimeout(() => this.#turns.endTurn(), pauseMs);
    };
  }
}

/**
 * Runs a function for each element, a limited number at a time. A failure does not stop the others; the first failure
 * is thrown when all have ended.
 */
export async function forEachWithLimit<T>(
  elements: Iterable<T>,
  limit: number,
  work: (element: T) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  const remaining = Iterator.from(elements);
  async function worker(): Promise<void> {
    for (let next = remaining.next(); !next.done; next = remaining.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  }
  await Promise.all(Array.from({ length: limit }, worker));
  if (failures.length > 0) throw failures[0];
}
