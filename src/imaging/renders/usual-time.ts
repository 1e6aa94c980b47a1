/** Number of accounts that are remembered, the most recent ones. */
const MAX_ACCOUNTS = 64;

/**
 * The usual time for drawing a page on this host. Each account counts once, so that none raises it by its own slow
 * pages.
 */
export class UsualTime {
  /**
   * Milliseconds by account id. A Map iterates in the order of insertion, and an account that drew is inserted again.
   */
  readonly #lastMs = new Map<string, number>();

  record(accountId: string, drawnMs: number): void {
    this.#lastMs.delete(accountId);
    this.#lastMs.set(accountId, drawnMs);
    const [oldest] = this.#lastMs.keys();
    if (this.#lastMs.size > MAX_ACCOUNTS && oldest !== undefined) this.#lastMs.delete(oldest);
  }

  /** Whether the account has drawn a page, as far as it is remembered. */
  knows(accountId: string): boolean {
    return this.#lastMs.has(accountId);
  }

  /** The median over the accounts of the drawing time of their last page; 0 before the first page. */
  medianMs(): number {
    const sorted = [...this.#lastMs.values()].sort((a, b) => a - b);
    // With two accounts the quicker one counts, because the other may be the one that keeps it waiting.
    return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  }
}
