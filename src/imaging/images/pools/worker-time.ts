import type { Clock } from '../../../platform/clock.ts';

/** The CPU time that workers of this process spent on the calls of each account in the last minute. */
export interface WorkerTime {
  /** Records that work of an account has arrived. */
  arrived(accountId: string): void;
  /** Records time that was spent on a call, whatever its answer was. */
  spent(accountId: string, cpuMs: number): void;
  /**
   * Whether an account has used up its budget while other accounts are served, too: it then gives way to them. An
   * account that has the process for itself never does.
   */
  isSpent(accountId: string): boolean;
}

/** The minute slides in slices. */
const SLICE_MS = 10_000;
const SLICES = 6;
/** Time for which an account counts as present after its latest work has arrived. */
const PRESENT_MS = 1_000;

/**
 * Time is counted and not money: a refused, failed or late pass costs the caller nothing, but the host as much as any
 * other. Items of jobs are not counted, because jobs give way by themselves.
 * @param budgetMs time of an account in a minute. Read at each question, because an operator may change it.
 */
export function createWorkerTime({ clock, budgetMs }: { clock: Clock; budgetMs: () => number }): WorkerTime {
  /** Milliseconds of each account, by the number of the slice. */
  const slices = new Map<number, Map<string, number>>();
  /** The two accounts whose work arrived last. */
  let latest = { accountId: '', atMs: Number.NEGATIVE_INFINITY };
  let before = latest;

  const sliceNow = () => Math.floor(clock.elapsedMs() / SLICE_MS);

  function usedMs(accountId: string): number {
    const oldest = sliceNow() - SLICES;
    let usedMs = 0;
    for (const [number, ofAccounts] of slices) {
      if (number <= oldest) slices.delete(number);
      else usedMs += ofAccounts.get(accountId) ?? 0;
    }
    return usedMs;
  }

  function isAlone(accountId: string): boolean {
    const other = latest.accountId === accountId ? before : latest;
    return clock.elapsedMs() - other.atMs > PRESENT_MS;
  }

  return {
    arrived(accountId) {
      if (latest.accountId !== accountId) before = latest;
      latest = { accountId, atMs: clock.elapsedMs() };
    },
    spent(accountId, cpuMs) {
      const number = sliceNow();
      const slice = slices.get(number) ?? new Map<string, number>();
      slices.set(number, slice.set(accountId, (slice.get(accountId) ?? 0) + cpuMs));
    },
    isSpent: (accountId) => usedMs(accountId) > budgetMs() && !isAlone(accountId),
  };
}
