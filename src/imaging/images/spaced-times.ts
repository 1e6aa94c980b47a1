import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';

/** The time that a call is given, in milliseconds. */
interface Spacing {
  /** The least time from now. */
  waitMs: number;
  /** Between the times of two calls of one account. */
  spaceMs: number;
}

/** Accounts that are remembered. A call takes the same time however many they are, and whatever was given to them. */
const MAX_ACCOUNTS = 2_000;

/** Gives calls of an account times that lie apart, so that what follows from them does not happen all at once. */
export class SpacedTimes {
  readonly #clock: Clock;
  readonly #longestMs: number;
  /** By account: the time that its last call was given. The account whose call is the oldest is forgotten first. */
  readonly #lastMs = new LRUCache<string, number>({ max: MAX_ACCOUNTS });

  /** @param longestMs the longest time from now that a call is given. */
  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** The time of a call of the account, in milliseconds from now. */
  next(accountId: string, { waitMs, spaceMs }: Spacing): number {
    const nowMs = this.#clock.elapsedMs();
    const afterLastMs = (this.#lastMs.get(accountId) ?? Number.NEGATIVE_INFINITY) + spaceMs;
    const givenMs = Math.min(Math.max(nowMs + waitMs, afterLastMs), nowMs + this.#longestMs);
    this.#lastMs.set(accountId, givenMs);
    return givenMs - nowMs;
  }
}
