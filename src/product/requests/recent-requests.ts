import { HOUR_MS, MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { type KeptRequest, memoryBytesOfRequest } from './kept-request.ts';

/**
 * The maximum numbers of requests and bytes that a process remembers of one account, and of bytes of all accounts. If
 * all accounts together exceed their limit, the account whose last request is oldest is dropped.
 */
const MAX_REMEMBERED = { requests: 1_000, accountBytes: 2 * MEGABYTE_BYTES, bytes: 16 * MEGABYTE_BYTES };
const REMEMBERED_REQUEST_TTL_MS = HOUR_MS;

/** A request with a number that increases within the process. It orders requests of the same millisecond. */
export interface NumberedRequest extends KeptRequest {
  number: number;
}

interface AccountRequests {
  /** Oldest first. */
  requests: NumberedRequest[];
  bytes: number;
}

/**
 * The requests of the last hour that this process answered, by account. The memory of each account and of all together
 * is limited.
 */
export class RecentRequests {
  readonly #max: typeof MAX_REMEMBERED;
  /** The requests of each account. The account whose last request is oldest comes first. */
  readonly #accounts = new Map<string, AccountRequests>();
  #bytes = 0;
  #lastNumber = 0;

  /** @param max other limits. Only tests change them. */
  constructor(max: Partial<typeof MAX_REMEMBERED> = {}) {
    this.#max = { ...MAX_REMEMBERED, ...max };
  }

  /** The estimated memory of all remembered requests, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(accountId: string, request: KeptRequest): void {
    const account = this.#accounts.get(accountId) ?? { requests: [], bytes: 0 };
    this.#accounts.delete(accountId);
    this.#accounts.set(accountId, account);
    this.#lastNumber += 1;
    account.requests.push(Object.assign(request, { number: this.#lastNumber }));
    this.#addBytes(account, memoryBytesOfRequest(request));
    while (
      account.requests.length > this.#max.requests ||
      account.bytes > this.#max.accountBytes ||
      isExpired(account.requests[0], request.atMs)
    ) {
      const oldest = account.requests.shift();
      if (oldest !== undefined) this.#addBytes(account, -memoryBytesOfRequest(oldest));
    }
    this.#evictAccounts(request.atMs);
  }

  /** The requests of an account in the last hour, newest first. */
  *listNewestFirst(accountId: string, nowMs: number): Generator<NumberedRequest> {
    for (const request of (this.#accounts.get(accountId)?.requests ?? []).toReversed()) {
      if (isExpired(request, nowMs)) return;
      yield request;
    }
  }

  /**
   * Evicts whole accounts, the least recently active first: all without a request in the last hour, and more of them
   * until the memory limit is met.
   */
  #evictAccounts(nowMs: number): void {
    for (const [accountId, account] of this.#accounts) {
      if (this.#bytes <= this.#max.bytes && !isExpired(account.requests.at(-1), nowMs)) return;
      this.#accounts.delete(accountId);
      this.#bytes -= account.bytes;
    }
  }

  #addBytes(account: AccountRequests, bytes: number): void {
    account.bytes += bytes;
    this.#bytes += bytes;
  }
}

function isExpired(request: KeptRequest | undefined, nowMs: number): boolean {
  return request !== undefined && request.atMs < nowMs - REMEMBERED_REQUEST_TTL_MS;
}
