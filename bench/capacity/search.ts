/** A rate that was tried. */
export interface Probe {
  /** Calls per second. */
  rate: number;
  /** Whether the service met its objective. */
  holds: boolean;
}

export interface SearchOptions<P extends Probe> {
  /** The rate to begin with. */
  first: number;
  /** Tries a rate. Null where the run was stopped: the search ends. */
  probe: (rate: number) => Promise<P | null>;
}

export interface Found<P extends Probe> {
  /** The highest rate that held; null where none did. */
  best: P | null;
  /** The lowest rate that failed; null where none did. */
  next: P | null;
  /** The search ended before it was precise: the run was stopped, or the probes ran out. */
  isCutShort: boolean;
}

/** The search ends when the highest rate that holds and the lowest that fails are this close. */
const PRECISION = 1.05;
const GROWTH = 2;
const LEAST_RATE = 0.1;
const MOST_PROBES = 24;

/**
 * Finds the highest rate that holds: it grows or shrinks from the first rate until one holds and one fails, and then
 * bisects between them. A rate that failed is tried once more before it counts, because other load on the machine makes
 * a service fail and never makes it hold.
 */
export async function searchCapacity<P extends Probe>({ first, probe }: SearchOptions<P>): Promise<Found<P>> {
  const found: Found<P> = { best: null, next: null, isCutShort: true };
  let rate = first;
  for (let count = 0; count < MOST_PROBES; count += 1) {
    let tried = await probe(rate);
    if (tried?.holds === false) tried = await probe(rate);
    if (tried === null) return found;
    found[tried.holds ? 'best' : 'next'] = tried;

    const [holds, fails] = [found.best?.rate ?? LEAST_RATE, found.next?.rate ?? Number.POSITIVE_INFINITY];
    if (fails <= holds * PRECISION) return { ...found, isCutShort: false };
    rate = nextRate(found.best?.rate ?? null, fails);
  }
  return found;
}

function nextRate(holds: number | null, fails: number): number {
  if (holds === null) return Math.max(LEAST_RATE, fails / 2);
  return fails === Number.POSITIVE_INFINITY ? holds * GROWTH : Math.sqrt(holds * fails);
}
