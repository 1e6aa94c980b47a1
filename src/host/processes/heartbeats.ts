import type { Clock } from '../../platform/clock/clock.ts';

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
  let lookedMs = clock.elapsedMs();
  let cancel: (() => void) | undefined;

  /** After a pause of the primary itself, the heartbeats of that time are still unread, so all processes start anew. */
  function look(): void {
    const nowMs = clock.elapsedMs();
    const wasAway = nowMs - lookedMs > timeoutMs / 2 + BEAT_MS;
    lookedMs = nowMs;
    for (const [process, beatMs] of lastMs) {
      if (wasAway) lastMs.set(process, nowMs);
      else if (nowMs - beatMs > timeoutMs) {
        lastMs.delete(process);
        onSilent(process);
      }
    }
    cancel = lastMs.size === 0 ? undefined : clock.after(BEAT_MS, look);
  }

  return {
    watch(process) {
      lastMs.set(process, clock.elapsedMs());
      if (cancel !== undefined) return;
      lookedMs = clock.elapsedMs();
      cancel = clock.after(BEAT_MS, look);
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
