import type { Clock } from '../../platform/clock/clock.ts';

/** Work that has met its deadline in the last minute, by account. Equal work would meet it again. */
export interface LateWork {
  /** @param name a text that equal work has in common. */
  record(accountId: string, name: string): void;
  /**
   * Seconds until equal work of the account may begin again, rounded up; 0 where it may at once.
   * @param nameOf answers a text that equal work has in common. It is called only where there is late work.
   */
  waitSeconds(accountId: string, nameOf: () => string): number;
}

/** Time for which equal work is not begun again. */
export const LATE_SECONDS = 60;
const LATE_MS = LATE_SECONDS * 1_000;

export function createLateWork(clock: Clock): LateWork {
  /** When each work met its deadline, the earliest first. */
  const lateSinceMs = new Map<string, number>();
  const keyOf = (accountId: string, name: string) => `${accountId} ${name}`;

  function forgetOld(): void {
    for (const [key, sinceMs] of lateSinceMs) {
      if (clock.elapsedMs() - sinceMs < LATE_MS) return;
      lateSinceMs.delete(key);
    }
  }

  return {
    record(accountId, name) {
      const key = keyOf(accountId, name);
      forgetOld();
      lateSinceMs.delete(key);
      lateSinceMs.set(key, clock.elapsedMs());
    },
    waitSeconds(accountId, nameOf) {
      forgetOld();
      if (lateSinceMs.size === 0) return 0;
      const sinceMs = lateSinceMs.get(keyOf(accountId, nameOf()));
      return sinceMs === undefined ? 0 : Math.ceil((sinceMs + LATE_MS - clock.elapsedMs()) / 1_000);
    },
  };
}
