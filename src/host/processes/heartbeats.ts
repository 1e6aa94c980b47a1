import type { Clock } from '../../platform/clock.ts';

/** The interval of heartbeats. */
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
  readonly #timeoutMs: number;
  readonly #onSilent: (process: T) => void;
  readonly #clock: Clock;
  readonly #lastMs = new Map<T, number>();
  #checkedMs: number;
  #cancel: (() => void) | undefined;

  constructor(options: HeartbeatsOptions<T>) {
    this.#timeoutMs = options.timeoutMs;
    this.#onSilent = options.onSilent;
    this.#clock = options.clock;
    this.#checkedMs = options.clock.elapsedMs();
  }

  /** Adds a process, which must send heartbeats from then on. */
  watch(process: T): void {
    this.#lastMs.set(process, this.#clock.elapsedMs());
    if (this.#cancel !== undefined) return;
    this.#checkedMs = this.#clock.elapsedMs();
    this.#cancel = this.#clock.after(HEARTBEAT_INTERVAL_MS, () => this.#check());
  }

  beat(process: T): void {
    if (this.#lastMs.has(process)) this.#lastMs.set(process, this.#clock.elapsedMs());
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
    const nowMs = this.#clock.elapsedMs();
    return nowMs - (this.#lastMs.get(process) ?? nowMs);
  }

  /**
   * Checks for hung processes. After a pause of the primary itself, the heartbeats of that time are unread, so every
   * timeout starts again.
   */
  #check(): void {
    const nowMs = this.#clock.elapsedMs();
    const wasPaused = nowMs - this.#checkedMs > this.#timeoutMs / 2 + HEARTBEAT_INTERVAL_MS;
    this.#checkedMs = nowMs;
    for (const [process, beatMs] of this.#lastMs) {
      if (wasPaused) this.#lastMs.set(process, nowMs);
      else if (nowMs - beatMs > this.#timeoutMs) {
        this.#lastMs.delete(process);
        this.#onSilent(process);
      }
    }
    this.#cancel =
      this.#lastMs.size === 0 ? undefined : this.#clock.after(HEARTBEAT_INTERVAL_MS, () => this.#check());
  }
}
