import type { Clock } from '../../platform/clock.ts';

/** How long an account stays marked after one of its pages was stopped. */
export const SLOW_FOR_MS = 60_000;

interface SlowAccounts {
  mark(accountId: string): void;
  has(accountId: string): boolean;
}

/** Accounts whose last page had to be stopped. For the next minute their pages are drawn in a separate browser. */
export function createSlowAccounts(clock: Clock): SlowAccounts {
  /**
   * End of each mark by account id, in milliseconds of the monotonic clock. The entries are in the order of the marks,
   * so the oldest come first.
   */
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
