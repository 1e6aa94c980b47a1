import { LRUCache } from 'lru-cache';
import type { AccountCalls } from '../../../platform/metrics/load.ts';

/** The maximum number of accounts in the LRU cache of call counts. */
const MAX_COUNTED_ACCOUNTS = 100;
const LOAD_REFUSAL_STATUSES = [429, 503];

/** The call counts of the accounts that called last, for the operator. Each process counts its own calls. */
export class AccountCallCounts {
  readonly #counts = new LRUCache<string, AccountCalls>({ max: MAX_COUNTED_ACCOUNTS });

  count(accountId: string, status: number): void {
    const counted = this.#counts.get(accountId) ?? { calls: 0, refused: 0 };
    counted.calls += 1;
    if (LOAD_REFUSAL_STATUSES.includes(status)) counted.refused += 1;
    if (counted.calls === 1) this.#counts.set(accountId, counted);
  }

  /** The counts since the start of the process. */
  all(): Record<string, AccountCalls> {
    return Object.fromEntries([...this.#counts].map(([id, counted]) => [id, { ...counted }]));
  }
}
