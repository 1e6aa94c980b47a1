import type { Clock } from '../../platform/clock/clock.ts';
import { BEAT_MS } from './heartbeats.ts';

/** Calls of difference that are worth a new connection: less is what one connection more or fewer makes. */
const LEAST_DIFFERENCE = 1.5;
/** Of the busier process's load. Calls that come at random moments make such a difference without any fault. */
const LEAST_SHARE = 0.2;
/** A round of figures ends without a process that does not tell its own by then: it hangs. */
const LONGEST_ROUND_MS = 2 * BEAT_MS;

/**
 * How many connections each process should give up, so that all are equally busy once their clients have connected again.
 *
 * New connections go round all processes in turn, so one that is given up may come back. Each process therefore gives up
 * all that it has more than the least busy one: what is given up is then shared out evenly over an even rest.
 * @param loads by process, the mean number of calls that it had in hand, waiting ones included.
 * @returns by process, a number above 0. Processes that keep their connections are missing.
 */
export function connectionsToRelease<T>(loads: ReadonlyMap<T, number>): Map<T, number> {
  const least = Math.min(...loads.values());
  const releases = new Map<T, number>();
  for (const [process, load] of loads) {
    const difference = load - least;
    if (difference < Math.max(LEAST_DIFFERENCE, LEAST_SHARE * load)) continue;
    releases.set(process, Math.round(difference));
  }
  return releases;
}

export interface BalanceOptions<T> {
  /** Asks a process to close so many connections, each with its next answer. */
  release: (process: T, connections: number) => void;
  clock: Clock;
}

/**
 * Keeps the API processes of a host equally busy. A kept connection stays with the process that took it, so a process that
 * starts later would get no call of the clients that are connected already.
 */
export interface Balance<T> {
  /** What a process had in hand since its beat before. */
  tell(process: T, load: number): void;
  forget(process: T): void;
}

export function createBalance<T>({ release, clock }: BalanceOptions<T>): Balance<T> {
  const known = new Set<T>();
  /** The figures of the present round: one per process. */
  const loads = new Map<T, number>();
  let roundMs = clock.elapsedMs();

  /** After a release one beat is left out: its figures still hold what was before. */
  function endRound(nowMs: number): void {
    const releases = connectionsToRelease(loads);
    for (const [process, connections] of releases) release(process, connections);
    loads.clear();
    roundMs = releases.size > 0 ? nowMs + BEAT_MS : nowMs;
  }

  return {
    tell(process, load) {
      known.add(process);
      const nowMs = clock.elapsedMs();
      if (nowMs < roundMs) return;
      loads.set(process, load);
      if (loads.size === known.size || nowMs - roundMs >= LONGEST_ROUND_MS) endRound(nowMs);
    },
    forget(process) {
      known.delete(process);
      loads.delete(process);
    },
  };
}
