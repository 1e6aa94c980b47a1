import type { Clock } from '../../platform/clock.ts';
import { HEARTBEAT_INTERVAL_MS } from './heartbeats.ts';

interface ConnectionBalancerOptions<T> {
  /** Makes a process close a number of connections, each with its next response. */
  release: (process: T, connections: number) => void;
  clock: Clock;
}

/**
 * Connections are moved only if the concurrent calls of two processes differ by at least this number. It is more than
 * one connection can cause.
 */
const MIN_CALL_DIFFERENCE = 1.5;
/**
 * Connections are moved only if the difference is at least this share of the load of the busier process. Calls that
 * arrive at random cause smaller differences.
 */
const MIN_LOAD_DIFFERENCE_SHARE = 0.2;
/** The timeout of a round: a process that has reported no load by then hangs, and is left out. */
const REPORT_ROUND_TIMEOUT_MS = 2 * HEARTBEAT_INTERVAL_MS;

/**
 * Computes how many connections each process should close, so that all are equally busy once the clients have
 * reconnected.
 *
 * New connections are assigned to all processes in turn, so a closed one may return to the same process. Each process
 * therefore closes as many connections as its load exceeds the lowest one, and all closed connections are then
 * distributed evenly.
 * @param loads the mean number of concurrent calls of each process, including waiting ones.
 * @returns a number above 0 for each process that has to close connections.
 */
export function connectionsToRelease<T>(loads: ReadonlyMap<T, number>): Map<T, number> {
  const least = Math.min(...loads.values());
  const releases = new Map<T, number>();
  for (const [process, load] of loads) {
    const difference = load - least;
    if (difference < Math.max(MIN_CALL_DIFFERENCE, MIN_LOAD_DIFFERENCE_SHARE * load)) continue;
    releases.set(process, Math.round(difference));
  }
  return releases;
}

/**
 * Keeps the API processes of a host equally busy. A keep-alive connection stays with the process that accepted it, so a
 * process that starts later would get no calls of connected clients.
 */
export class ConnectionBalancer<T> {
  readonly #options: ConnectionBalancerOptions<T>;
  readonly #watched = new Set<T>();
  /** The loads of the current round, one per process. */
  readonly #loads = new Map<T, number>();
  #roundMs: number;
  /** The releases that the previous round computed. */
  #previousReleases = new Map<T, number>();

  constructor(options: ConnectionBalancerOptions<T>) {
    this.#options = options;
    this.#roundMs = options.clock.elapsedMs();
  }

  /** Adds a process. Each round waits for the load of this process. */
  watch(process: T): void {
    this.#watched.add(process);
  }

  /** Records the load of a process since its last heartbeat. */
  report(process: T, load: number): void {
    const nowMs = this.#options.clock.elapsedMs();
    this.#loads.set(process, load);
    if (this.#loads.size === this.#watched.size || nowMs - this.#roundMs >= REPORT_ROUND_TIMEOUT_MS)
      this.#endRound(nowMs);
  }

  forget(process: T): void {
    this.#watched.delete(process);
    this.#loads.delete(process);
  }

  /**
   * Releases only as many connections as both this round and the previous one computed. The processes report at
   * different times, so a single round may mix loads from before and after a change. The first round after a release is
   * such a round.
   */
  #endRound(nowMs: number): void {
    const now = connectionsToRelease(this.#loads);
    let released = false;
    for (const [process, count] of now) {
      const releaseCount = Math.min(count, this.#previousReleases.get(process) ?? 0);
      if (releaseCount === 0) continue;
      this.#options.release(process, releaseCount);
      released = true;
    }
    this.#previousReleases = released ? new Map() : now;
    this.#loads.clear();
    this.#roundMs = nowMs;
  }
}
