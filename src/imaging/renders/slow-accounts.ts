import type { Clock } from '../../platform/clock/clock.ts';

/** How long an account stays marked after a page of it was stopped. */
export const SLOW_FOR_MS = 60_000;

/** Accounts whose last page had to be stopped: for the next minute their pages are drawn in a browser of their own. */
export interface SlowAccounts {
  mark(accountId: string): void;
  has(accountId: string): boolean;
}

export function createSlowAccounts(clock: Clock): SlowAccounts {
  /** Until when, in milliseconds of the clock that never goes back; in the order of the marks, so that the oldest stand first. */
  const until = new Map<string, number>();

  function forgetPast(): void {
    const nowMs = clock.elapsedMs();
    for (const [accountId, endsMs] of until) {
      if (endsMs > nowMs) return;
      until.delete(accountId);
    }
  }

  return {
    mark(accountId) {
      until.delete(accountId);
      until.set(accountId, clock.elapsedMs() + SLOW_FOR_MS);
      forgetPast();
    },
    has: (accountId) => (until.get(accountId) ?? Number.NEGATIVE_INFINITY) > clock.elapsedMs(),
  };
}
