/** Number of accounts that are remembered, the most recent ones. */
const MAX_ACCOUNTS = 64;

/**
 * The usual time for drawing a page on this host. Each account counts once, so that none raises it by its own slow
 * pages.
 */
interface UsualTime {
  record(accountId: string, drawnMs: number): void;
  /** Whether the account has drawn a page, as far as it is remembered. */
  knows(accountId: string): boolean;
  /** The median over the accounts of the drawing time of their last page; 0 before the first page. */
  medianMs(): number;
}

export function createUsualTime(): UsualTime {
  /**
   * Milliseconds by account id. A Map iterates in the order of insertion, and an account that drew is inserted again.
   */
  const lastMs = new Map<string, number>();
  return {
    record(accountId, drawnMs) {
      lastMs.delete(accountId);
      lastMs.set(accountId, drawnMs);
      const [oldest] = lastMs.keys();
      if (lastMs.size > MAX_ACCOUNTS && oldest !== undefined) lastMs.delete(oldest);
    },
    knows: (accountId) => lastMs.has(accountId),
    medianMs() {
      const sorted = [...lastMs.values()].sort((a, b) => a - b);
      // With two accounts the quicker one counts, because the other may be the one that keeps it waiting.
      return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
    },
  };
}
