import { HOUR_MS, MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { type KeptRequest, memoryBytesOfRequest } from './kept-request.ts';

/** The maximum number of requests of one account that a process remembers. */
const MAX_REQUESTS_PER_ACCOUNT = 1_000;
const MAX_BYTES_PER_ACCOUNT = 2 * MEGABYTE_BYTES;
/**
 * The memory limit for all accounts of a process, in bytes. Above it, the account whose last request is oldest is
 * dropped.
 */
const MAX_TOTAL_BYTES = 16 * MEGABYTE_BYTES;
const REQUEST_LIFE_MS = HOUR_MS;

/** A request with a number that increases within the process. It orders requests of the same millisecond. */
export interface NumberedRequest extends KeptRequest {
  number: number;
}

interface AccountRequests {
  /** Oldest first. */
  requests: NumberedRequest[];
  bytes: number;
}

/** The limits of the memory. Only tests change them. */
interface MemoryLimits {
  requests?: number;
  accountBytes?: number;
  bytes?: number;
}

/**
 * The requests of the last hour that this process answered, by account. The memory of each account and of all together
 * is limited.
 */
export class RecentRequests {
  readonly #maxRequests: number;
  readonly #maxAccountBytes: number;
  readonly #maxBytes: number;
  /** The requests of each account. The account whose last request is oldest comes first. */
  readonly #accounts = new Map<string, AccountRequests>();
  #bytes = 0;
  #lastNumber = 0;

  constructor({
    requests = MAX_REQUESTS_PER_ACCOUNT,
    accountBytes = MAX_BYTES_PER_ACCOUNT,
    bytes = MAX_TOTAL_BYTES,
  }: MemoryLimits = {}) {
    this.#maxRequests = requests;
    this.#maxAccountBytes = accountBytes;
    this.#maxBytes = bytes;
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
      account.requests.length > this.#maxRequests ||
      account.bytes > this.#maxAccountBytes ||
      isExpired(account.requests[0], request.atMs)
    )
      this.#removeOldest(account);
    this.#removeQuietAccounts(request.atMs);
  }

  /** The requests of an account in the last hour, newest first. */
  *listNewestFirst(accountId: string, nowMs: number): Generator<NumberedRequest> {
    for (const request of (this.#accounts.get(accountId)?.requests ?? []).toReversed()) {
      if (isExpired(request, nowMs)) return;
      yield request;
    }
  }

  #removeOldest(account: AccountRequests): void {
    const oldest = account.requests.shift();
    if (oldest !== undefined) this.#addBytes(account, -memoryBytesOfRequest(oldest));
  }

  /**
   * Drops whole accounts: first those without a request in the last hour, then others until the memory limit is met.
   */
  #removeQuietAccounts(nowMs: number): void {
    for (const [accountId, account] of this.#accounts) {
      if (this.#bytes <= this.#maxBytes && !isExpired(account.requests.at(-1), nowMs)) return;
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
  return request !== undefined && request.atMs < nowMs - REQUEST_LIFE_MS;
}
