import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import type { AdmissionAnswer, RateWindowAnswer } from '../../../platform/stores/coordination/port.ts';
import type { Caller } from '../authentication.ts';
import { ADMISSION_CACHE_TTL_MS } from '../revocations.ts';

/** The maximum number of requests that one query to the coordination store counts in advance. */
const MAX_PREPAID_REQUESTS = 100;
const MAX_CACHED_ACCOUNTS = 10_000;

/** How to query the coordination store when the cache has no answer. */
interface AdmissionLoader {
  /**
   * Queries the coordination store, which admits or refuses the call.
   * @param ahead how many requests to count in advance.
   */
  load: (ahead: number) => Promise<AdmissionAnswer>;
  /** Whether the coordination store must be queried in any case, because the call also needs a slot. */
  bypassesCache?: boolean;
}

/** The requests that were counted in advance for one account, until its rate window resets. */
interface PrepaidWindow {
  prepaid: number;
  /** The requests that remained in the window when the coordination store was last queried. */
  remaining: number;
  endsMs: number;
}

/**
 * Caches the admission answers of the coordination store, so that most calls of a busy caller need no query. A call
 * passes without a query if its caller was admitted from the same network within the last tenth of a second, and if a
 * request of its account is left that was counted in advance. Requests are counted before they are made, so no limit is
 * ever exceeded. A request that was counted in advance but is never made is lost until the window resets.
 * RateWindowRequest says how many that may be.
 *
 * A query costs 0.2 to 0.45 ms of CPU. For comparison, GET /credits without a query takes 54 µs, and a transform to 200
 * px takes 2 ms.
 */
export class AdmissionCache {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  readonly #admittedCallers = new WeakMap<Caller, { network: string; untilMs: number }>();
  readonly #prepaidWindows = new LRUCache<string, PrepaidWindow>({ max: MAX_CACHED_ACCOUNTS });
  /**
   * The accounts for which a query is counting requests in advance. Of several concurrent calls, only one counts in
   * advance.
   */
  readonly #countingAccounts = new Set<string>();

  constructor(clock: Pick<Clock, 'elapsedMs'> = systemClock) {
    this.#clock = clock;
  }

  /**
   * Counts a call against the cached answer, and returns the answer. Null when the coordination store must be queried.
   */
  admitFromCache(caller: Caller, network: string): RateWindowAnswer | null {
    const last = this.#admittedCallers.get(caller);
    const nowMs = this.#clock.elapsedMs();
    if (last === undefined || last.network !== network || nowMs >= last.untilMs) return null;
    const window = this.#liveWindow(caller.accountId, nowMs);
    if (window === undefined || window.prepaid === 0) return null;
    window.prepaid -= 1;
    return { allowed: true, remaining: window.remaining, resetMs: window.endsMs - nowMs, ahead: 0 };
  }

  /** Requests that are already counted in the rate window but not received yet. */
  prepaidRequests(accountId: string): number {
    return this.#liveWindow(accountId)?.prepaid ?? 0;
  }

  /** The cached answer while it is valid, else the answer of `load`. */
  async admit(
    caller: Caller,
    network: string,
    { load, bypassesCache = false }: AdmissionLoader,
  ): Promise<AdmissionAnswer> {
    const rate = bypassesCache ? null : this.admitFromCache(caller, network);
    if (rate !== null) return { blockedMs: 0, flagged: false, rate, slot: true };
    const { accountId } = caller;
    const prepays = this.prepaidRequests(accountId) === 0 && !this.#countingAccounts.has(accountId);
    if (prepays) this.#countingAccounts.add(accountId);
    try {
      const askedMs = this.#clock.elapsedMs();
      const answer = await load(prepays ? MAX_PREPAID_REQUESTS : 0);
      if (answer.rate?.allowed) this.#cacheAnswer(caller, network, askedMs, answer.rate, prepays);
      return answer;
    } finally {
      if (prepays) this.#countingAccounts.delete(accountId);
    }
  }

  #liveWindow(accountId: string, nowMs = this.#clock.elapsedMs()): PrepaidWindow | undefined {
    const window = this.#prepaidWindows.get(accountId);
    return window !== undefined && nowMs < window.endsMs ? window : undefined;
  }

  /**
   * Stores an answer. Its TTL begins when the query is sent, so that the cached answer never outlives the state that it
   * describes.
   */
  #cacheAnswer(
    caller: Caller,
    network: string,
    askedMs: number,
    rate: RateWindowAnswer,
    prepays: boolean,
  ): void {
    this.#admittedCallers.set(caller, { network, untilMs: askedMs + ADMISSION_CACHE_TTL_MS });
    const { ahead, remaining, resetMs } = rate;
    if (prepays)
      this.#prepaidWindows.set(caller.accountId, { prepaid: ahead, remaining, endsMs: askedMs + resetMs });
    else {
      const window = this.#liveWindow(caller.accountId);
      if (window !== undefined) window.remaining = remaining;
    }
  }
}
