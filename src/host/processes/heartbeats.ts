import type { Clock } from '../../platform/clock.ts';

/** Each API process sends the primary a heartbeat at this interval. */
export const HEARTBEAT_INTERVAL_MS = 1_000;

interface HeartbeatsOptions<T> {
  /** The time without a heartbeat after which a process counts as hung. */
  timeoutMs: number;
  onSilent: (process: T) => void;
  clock: Clock;
}

/**
 * Detects hung processes. A process that is stopped, or whose event loop is blocked, serves no calls and does not end.
 */
export class Heartbeats<T> {
  readonly #options: HeartbeatsOptions<T>;
  readonly #lastBeatMs = new Map<T, number>();
  #checkedMs: number;
  #cancelCheck: (() => void) | undefined;

  constructor(options: HeartbeatsOptions<T>) {
    this.#options = options;
    this.#checkedMs = options.clock.elapsedMs();
  }

  /** Adds a process, which must send heartbeats from then on. */
  watch(process: T): void {
    this.#lastBeatMs.set(process, this.#options.clock.elapsedMs());
    if (this.#cancelCheck !== undefined) return;
    this.#checkedMs = this.#options.clock.elapsedMs();
    this.#cancelCheck = this.#options.clock.after(HEARTBEAT_INTERVAL_MS, () => this.#reportSilent());
  }

  beat(process: T): void {
    if (this.#lastBeatMs.has(process)) this.#lastBeatMs.set(process, this.#options.clock.elapsedMs());
  }

  forget(process: T): void {
    this.#lastBeatMs.delete(process);
    // The timer runs only while processes are watched, because it keeps the primary alive.
    if (this.#lastBeatMs.size > 0) return;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  /** Milliseconds since the last heartbeat of a process; 0 for a process that is not watched. */
  silentMs(process: T): number {
    const nowMs = this.#options.clock.elapsedMs();
    return nowMs - (this.#lastBeatMs.get(process) ?? nowMs);
  }

  /**
   * Reports hung processes. If the primary itself has paused, heartbeats may still be unread, so every timeout
   * starts again.
   */
  #reportSilent(): void {
    const { timeoutMs, onSilent, clock } = this.#options;
    const nowMs = clock.elapsedMs();
    const wasPaused = nowMs - this.#checkedMs > timeoutMs / 2 + HEARTBEAT_INTERVAL_MS;
    this.#checkedMs = nowMs;
    for (const [process, beatMs] of this.#lastBeatMs) {
      if (wasPaused) this.#lastBeatMs.set(process, nowMs);
      else if (nowMs - beatMs > timeoutMs) {
        this.#lastBeatMs.delete(process);
        onSilent(process);
      }
    }
    this.#cancelCheck =
      this.#lastBeatMs.size === 0
        ? undefined
        : clock.after(HEARTBEAT_INTERVAL_MS, () => this.#reportSilent());
  }
}
