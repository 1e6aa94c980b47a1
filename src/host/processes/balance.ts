import type { Clock } from '../../platform/clock/clock.ts';
import { BEAT_MS } from './heartbeats.ts';

/** Calls of difference that are worth a new connection: less is what one connection more or fewer makes. */
const LEAST_DIFFERENCE = 1.5;
/** Of the busier process's load. Calls that come at random moments make such a difference without any fault. */
const LEAST_SHARE = 0.2;
/** A round ends without the figure of a process that sends none by then: it hangs. */
const LONGEST_ROUND_MS = 2 * BEAT_MS;

/**
 * How many connections each process should give up, so that all are equally busy once their clients have connected
 * again.
 *
 * New connections go round all processes in turn, so one that is given up may come back. Each process therefore gives
 * up all that it has more than the least busy one: what is given up is then shared out evenly over an even rest.
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
  /** Asks a process to close a number of connections, each with its next answer. */
  release: (process: T, connections: number) => void;
  clock: Clock;
}

/**
 * Keeps the API processes of a host equally busy. A kept connection stays with the process that took it, so a process
 * that starts later would get no call of the clients that are connected already.
 */
export interface Balance<T> {
  /** From now on the rounds wait for its figure. */
  watch(process: T): void;
  /** Notes the load of a process since its last beat. */
  tell(process: T, load: number): void;
  forget(process: T): void;
}

export function createBalance<T>({ release, clock }: BalanceOptions<T>): Balance<T> {
  const known = new Set<T>();
  /** The figures of the present round: one per process. */
  const loads = new Map<T, number>();
  let roundMs = clock.elapsedMs();
  /** The releases that the last round would have made. */
  let before = new Map<T, number>();

  /**
   * Releases what two rounds in a row agree on. A single one may compare figures of before and after a change, because
   * each process has its own second; so may the first one after a release.
   */
  function endRound(nowMs: number): void {
    const now = connectionsToRelease(loads);
    const agreed = [...now].map(
      ([process, count]) => [process, Math.min(count, before.get(process) ?? 0)] as const,
    );
    const releases = agreed.filter(([, count]) => count > 0);
    for (const [process, connections] of releases) release(process, connections);
    before = releases.length > 0 ? new Map() : now;
    loads.clear();
    roundMs = nowMs;
  }

  return {
    watch(process) {
      known.add(process);
    },
    tell(process, load) {
      const nowMs = clock.elapsedMs();
      loads.set(process, load);
      if (loads.size === known.size || nowMs - roundMs >= LONGEST_ROUND_MS) endRound(nowMs);
    },
    forget(process) {
      known.delete(process);
      loads.delete(process);
    },
  };
}
