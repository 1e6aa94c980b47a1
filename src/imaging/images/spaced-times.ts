import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';

/** What decides when a call may be sent again, in milliseconds. */
interface CallSpacing {
  /** The shortest time from now until the call may be sent again. */
  waitMs: number;
  /** The time between two calls of one account. */
  spaceMs: number;
}

const MAX_REMEMBERED_ACCOUNTS = 2_000;

/**
 * Assigns each refused call of an account its own time at which it may be sent again, so that not all of them are sent
 * at once.
 */
export class SpacedCallTimes {
  readonly #clock: Clock;
  readonly #maxDelayMs: number;
  /**
   * The last time that was assigned to a call of each account. The account that was assigned a time longest ago is
   * forgotten first.
   */
  readonly #lastAssignedMs = new LRUCache<string, number>({ max: MAX_REMEMBERED_ACCOUNTS });

  /** @param maxDelayMs the longest time, in milliseconds from now, that a call may get. */
  constructor(clock: Clock, maxDelayMs: number) {
    this.#clock = clock;
    this.#maxDelayMs = maxDelayMs;
  }

  /**
   * Assigns a time to a call of the account.
   * @returns the milliseconds from now until that time.
   */
  nextDelayMs(accountId: string, { waitMs, spaceMs }: CallSpacing): number {
    const nowMs = this.#clock.elapsedMs();
    const afterLastMs = (this.#lastAssignedMs.get(accountId) ?? Number.NEGATIVE_INFINITY) + spaceMs;
    const givenMs = Math.min(Math.max(nowMs + waitMs, afterLastMs), nowMs + this.#maxDelayMs);
    this.#lastAssignedMs.set(accountId, givenMs);
    return givenMs - nowMs;
  }
}
