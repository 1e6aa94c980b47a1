/** What drawing a page usually takes on this host. */
export interface UsualTime {
  saw(accountId: string, drawnMs: number): void;
  /** The median over the accounts of what the last page of each took; 0 before the first. */
  medianMs(): number;
}

/** Accounts that are remembered, those that drew last. */
const MOST_ACCOUNTS = 64;

/** Each account counts once, so that none raises the usual time by its own slow pages. */
export function createUsualTime(): UsualTime {
  /** By account; a Map iterates in the order of insertion, and an account that drew is inserted again. */
  const lastMs = new Map<string, number>();
  return {
    saw(accountId, drawnMs) {
      lastMs.delete(accountId);
      lastMs.set(accountId, drawnMs);
      const [oldest] = lastMs.keys();
      if (lastMs.size > MOST_ACCOUNTS && oldest !== undefined) lastMs.delete(oldest);
    },
    medianMs() {
      const sorted = [...lastMs.values()].sort((a, b) => a - b);
      // Of two accounts the quicker one: the other may be who keeps it waiting.
      return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
    },
  };
}
