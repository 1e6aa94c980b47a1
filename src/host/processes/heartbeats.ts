import type { Clock } from '../../platform/clock.ts';

/** The interval of heartbeats. */
export const BEAT_MS = 1_000;

interface HeartbeatsOptions<T> {
  /** The time without a heartbeat after which a process counts as hung. */
  timeoutMs: number;
  onSilent: (process: T) => void;
  clock: Clock;
}

/**
 * Detects hung processes: a process that is stopped, or whose event loop is blocked, serves no calls and does not end.
 */
interface Heartbeats<T> {
  /** Adds a process, which must send heartbeats from then on. */
  watch(process: T): void;
  beat(process: T): void;
  forget(process: T): void;
}

export function createHeartbeats<T>({ timeoutMs, onSilent, clock }: HeartbeatsOptions<T>): Heartbeats<T> {
  const lastMs = new Map<T, number>();
  let checkedMs = clock.elapsedMs();
  let cancel: (() => void) | undefined;

  /** After a pause of the primary itself, the heartbeats of that time are unread, so every timeout starts again. */
  function check(): void {
    const nowMs = clock.elapsedMs();
    const wasPaused = nowMs - checkedMs > timeoutMs / 2 + BEAT_MS;
    checkedMs = nowMs;
    for (const [process, beatMs] of lastMs) {
      if (wasPaused) lastMs.set(process, nowMs);
      else if (nowMs - beatMs > timeoutMs) {
        lastMs.delete(process);
        onSilent(process);
      }
    }
    cancel = lastMs.size === 0 ? undefined : clock.after(BEAT_MS, check);
  }

  return {
    watch(process) {
      lastMs.set(process, clock.elapsedMs());
      if (cancel !== undefined) return;
      checkedMs = clock.elapsedMs();
      cancel = clock.after(BEAT_MS, check);
    },
    beat(process) {
      if (lastMs.has(process)) lastMs.set(process, clock.elapsedMs());
    },
    forget(process) {
      lastMs.delete(process);
      // The timer is stopped without processes, because it would keep the primary alive.
      if (lastMs.size > 0) return;
      cancel?.();
      cancel = undefined;
    },
  };
}
