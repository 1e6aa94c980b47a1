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
  readonly #lastMs = new Map<T, number>();
  #checkedMs: number;
  #cancel: (() => void) | undefined;

  constructor(options: HeartbeatsOptions<T>) {
    this.#options = options;
    this.#checkedMs = options.clock.elapsedMs();
  }

  /** Adds a process, which must send heartbeats from then on. */
  watch(process: T): void {
    this.#lastMs.set(process, this.#options.clock.elapsedMs());
    if (this.#cancel !== undefined) return;
    this.#checkedMs = this.#options.clock.elapsedMs();
    this.#cancel = this.#options.clock.after(HEARTBEAT_INTERVAL_MS, () => this.#check());
  }

  beat(process: T): void {
    if (this.#lastMs.has(process)) this.#lastMs.set(process, this.#options.clock.elapsedMs());
  }

  forget(process: T): void {
    this.#lastMs.delete(process);
    // The timer runs only while processes are watched, because it keeps the primary alive.
    if (this.#lastMs.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Milliseconds since the last heartbeat of a process; 0 for a process that is not watched. */
  silentMs(process: T): number {
    const nowMs = this.#options.clock.elapsedMs();
    return nowMs - (this.#lastMs.get(process) ?? nowMs);
  }

  /**
   * Checks for hung processes. If the primary itself has paused, heartbeats may still be unread, so every timeout
   * starts again.
   */
  #check(): void {
    const { timeoutMs, onSilent, clock } = this.#options;
    const nowMs = clock.elapsedMs();
    const wasPaused = nowMs - this.#checkedMs > timeoutMs / 2 + HEARTBEAT_INTERVAL_MS;
    this.#checkedMs = nowMs;
    for (const [process, beatMs] of this.#lastMs) {
      if (wasPaused) this.#lastMs.set(process, nowMs);
      else if (nowMs - beatMs > timeoutMs) {
        this.#lastMs.delete(process);
        onSilent(process);
      }
    }
    this.#cancel =
      this.#lastMs.size === 0 ? undefined : clock.after(HEARTBEAT_INTERVAL_MS, () => this.#check());
  }
}
