import type { Clock } from '../../platform/clock/clock.ts';

/** How often a process says that it is alive. */
export const BEAT_MS = 1_000;

export interface HeartbeatsOptions<T> {
  /** Silence after which a process is taken for hung. */
  timeoutMs: number;
  onSilent: (process: T) => void;
  clock: Clock;
}

/**
 * Notices processes that hang: one that is stopped, or whose event loop never comes round, serves nobody and does not
 * end.
 */
export interface Heartbeats<T> {
  /** From now on the process is expected to beat. */
  watch(process: T): void;
  beat(process: T): void;
  forget(process: T): void;
}

export function createHeartbeats<T>({ timeoutMs, onSilent, clock }: HeartbeatsOptions<T>): Heartbeats<T> {
  const lastMs = new Map<T, number>();
  let lookedMs = clock.elapsedMs();
  let cancel: (() => void) | undefined;

  /** After a pause of the listener itself the beats of that time are still unread, so everybody gets a fresh start. */
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
      // A clock that goes on for nobody would keep the primary alive.
      if (lastMs.size > 0) return;
      cancel?.();
      cancel = undefined;
    },
  };
}
