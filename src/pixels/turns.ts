/** Those who wait, by account: first come, first served inside of an account, and the accounts in turn. */
export interface Turns<T> {
  readonly size: number;
  add(accountId: string, waiter: T): void;
  /** A waiter that is not there is no fault: it may have been served just before. */
  remove(accountId: string, waiter: T): void;
  /**
   * Who is served next: of the accounts that hold the fewest places, the one whose last turn is longest ago. So an
   * account keeps several places only while nobody else waits.
   */
  next(placesOf: (accountId: string) => number): { accountId: string; waiter: T } | undefined;
  /** Takes out the waiter that `next` answered; its account goes to the end. */
  serve(accountId: string, waiter: T): void;
}

export function createTurns<T>(): Turns<T> {
  /** The first account is the one whose last turn is longest ago. */
  const lanes = new Map<string, T[]>();
  let size = 0;

  function remove(accountId: string, waiter: T): void {
    const lane = lanes.get(accountId) ?? [];
    const at = lane.indexOf(waiter);
    if (at === -1) return;
    lane.splice(at, 1);
    size -= 1;
    if (lane.length === 0) lanes.delete(accountId);
  }

  return {
    get size() {
      return size;
    },
    add(accountId, waiter) {
      const lane = lanes.get(accountId);
      if (lane === undefined) lanes.set(accountId, [waiter]);
      else lane.push(waiter);
      size += 1;
    },
    remove,
    next(placesOf) {
      let fewest = Number.POSITIVE_INFINITY;
      let chosen: { accountId: string; waiter: T } | undefined;
      for (const [accountId, [waiter]] of lanes) {
        const places = placesOf(accountId);
        if (waiter === undefined || places >= fewest) continue;
        fewest = places;
        chosen = { accountId, waiter };
        if (places === 0) break;
      }
      return chosen;
    },
    serve(accountId, waiter) {
      remove(accountId, waiter);
      const lane = lanes.get(accountId);
      if (lane === undefined) return;
      lanes.delete(accountId);
      lanes.set(accountId, lane);
    },
  };
}
