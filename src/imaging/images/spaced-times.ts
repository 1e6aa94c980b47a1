import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';

/** The rule by which a call gets its time, in milliseconds. */
interface CallSpacing {
  /** The shortest time from now until the call may come back. */
  waitMs: number;
  /** The time between two calls of one account. */
  spaceMs: number;
}

/** Number of accounts that are remembered. The cost of a call does not depend on it. */
const MAX_REMEMBERED_ACCOUNTS = 2_000;

/** Assigns spaced times to the calls of each account, so that they do not all come back at once. */
export class SpacedCallTimes {
  readonly #clock: Clock;
  readonly #longestMs: number;
  /** The time that was given to the last call of each account. The account with the oldest call is forgotten first. */
  readonly #lastMs = new LRUCache<string, number>({ max: MAX_REMEMBERED_ACCOUNTS });

  /** @param longestMs the longest time, in milliseconds from now, that a call may get. */
  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** The time of a call of the account, in milliseconds from now. */
  nextDelayMs(accountId: string, { waitMs, spaceMs }: CallSpacing): number {
    const nowMs = this.#clock.elapsedMs();
    const afterLastMs = (this.#lastMs.get(accountId) ?? Number.NEGATIVE_INFINITY) + spaceMs;
    const givenMs = Math.min(Math.max(nowMs + waitMs, afterLastMs), nowMs + this.#longestMs);
    this.#lastMs.set(accountId, givenMs);
    return givenMs - nowMs;
  }
}
