/** A rate that was tried. */
export interface TriedRate {
  /** Calls per second. */
  rate: number;
  /** Whether the service met its objective. */
  holds: boolean;
}

export interface RateSearchOptions<P extends TriedRate> {
  /** The rate to begin with. */
  first: number;
  /** Tries a rate. Null if the run was stopped, which ends the search. */
  probe: (rate: number) => Promise<P | null>;
  /** Tries the highest rate that held once more, for longer. Null as of `probe`. */
  confirm: (rate: number) => Promise<P | null>;
}

export interface Found<P extends TriedRate> {
  /** The highest rate that held when it was confirmed; null if no rate did. */
  best: P | null;
  /** The lowest rate that failed; null if none did. */
  next: P | null;
  /** The search ended before it was precise: the run was stopped, or the probes ran out. */
  isCutShort: boolean;
}

/** The search ends when the highest rate that holds and the lowest that fails are this close. */
const PRECISION = 1.05;
const GROWTH = 2;
const MIN_RATE = 0.1;
const MAX_PROBES = 24;

/**
 * Finds the highest rate that holds: it grows or shrinks from the first rate until one holds and one fails, and then
 * bisects between them. A rate that failed is tried once more before it counts, because other load on the machine makes
 * a service fail. Chance can also make a rate hold, when few calls come in its time: so the highest one is confirmed
 * for longer, and the search goes on below it where it fails then.
 */
export async function searchCapacity<P extends TriedRate>(options: RateSearchOptions<P>): Promise<Found<P>> {
  const { first, probe, confirm } = options;
  const held: P[] = [];
  let next: P | null = null;
  const found = (isCutShort: boolean): Found<P> => ({ best: held.at(-1) ?? null, next, isCutShort });
  let rate = first;
  for (let count = 0; count < MAX_PROBES; count += 1) {
    const tried = await twice(probe, rate);
    if (tried === null) return found(true);
    if (tried.holds) held.push(tried);
    else next = tried;

    while (isPrecise(held.at(-1), next)) {
      const best = held.at(-1);
      if (best === undefined) return found(false);
      const confirmed = await twice(confirm, best.rate);
      if (confirmed === null) return found(true);
      held.pop();
      if (confirmed.holds) held.push(confirmed);
      if (confirmed.holds) return found(false);
      next = confirmed;
    }
    rate = nextRate(held.at(-1)?.rate ?? null, next?.rate ?? Number.POSITIVE_INFINITY);
  }
  return found(true);
}

/** Tries a rate that failed once more. */
async function twice<P extends TriedRate>(
  trial: (rate: number) => Promise<P | null>,
  rate: number,
): Promise<P | null> {
  const first = await trial(rate);
  return first?.holds === false ? trial(rate) : first;
}

function isPrecise(best: TriedRate | undefined, next: TriedRate | null): boolean {
  return next !== null && next.rate <= (best?.rate ?? MIN_RATE) * PRECISION;
}

function nextRate(holds: number | null, fails: number): number {
  if (holds === null) return Math.max(MIN_RATE, fails / 2);
  return fails === Number.POSITIVE_INFINITY ? holds * GROWTH : Math.sqrt(holds * fails);
}
