/** How long an account stays marked after a page of it was stopped. */
export const SLOW_FOR_MS = 60_000;

/** Accounts whose last page had to be stopped: for the next minute their pages are drawn apart from those of others. */
export interface SlowAccounts {
  mark(accountId: string, nowMs: number): void;
  has(accountId: string, nowMs: number): boolean;
}

export function createSlowAccounts(): SlowAccounts {
  /** Until when, in epoch milliseconds; in the order of the marks, so that the oldest stand first. */
  const until = new Map<string, number>();

  function forgetPast(nowMs: number): void {
    for (const [accountId, endsMs] of until) {
      if (endsMs > nowMs) return;
      until.delete(accountId);
    }
  }

  return {
    mark(accountId, nowMs) {
      until.delete(accountId);
      until.set(accountId, nowMs + SLOW_FOR_MS);
      forgetPast(nowMs);
    },
    has: (accountId, nowMs) => (until.get(accountId) ?? 0) > nowMs,
  };
}
