import type { Clock } from '../../platform/clock.ts';
import { SpacedTimes } from './spaced-times.ts';

/** How long late work is not started again. */
export const LATE_SECONDS = 60;
const LATE_MS = LATE_SECONDS * 1_000;
/** Work that is estimated at less than this share of the late work may be in time. */
const AS_MUCH = 0.8;
/** Work that used less than this part of its time waited for a core, and may be in time on a host that is less busy. */
const OWN_SHARE = 0.5;
/** Time between two refusals of an account, so that it sends few bodies in vain. */
const REFUSAL_SPACE_MS = 1_000;
/** The longest time that a refusal is held back. */
const MAX_HOLD_MS = 5_000;

/**
 * Work that has met its deadline in the last minute, by account. The same over as much would meet it again, unless it
 * was late because other programs had the cores: that work is not kept here.
 */
export class LateWork {
  readonly #clock: Clock;
  /** By account: when its work last met its deadline, and the smallest work that did. The earliest comes first. */
  readonly #late = new Map<string, { sinceMs: number; size: number }>();
  readonly #refusals: SpacedTimes;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refusals = new SpacedTimes(clock, MAX_HOLD_MS);
  }

  /**
   * @param name a text that work of the same kind has in common.
   * @param size how much is worked on, in any unit that work of this name is measured in.
   * @param time the CPU time that it used, and the time that it had, in milliseconds.
   */
  record(accountId: string, name: string, size: number, time: { cpuMs: number; allowedMs: number }): void {
    if (time.cpuMs < OWN_SHARE * time.allowedMs) return;
    const key = keyOf(accountId, name);
    this.#forgetOld();
    const least = Math.min(size, this.#late.get(key)?.size ?? size);
    this.#late.delete(key);
    this.#late.set(key, { sinceMs: this.#clock.elapsedMs(), size: least });
  }

  /**
   * Seconds until work of the account may begin, rounded up; 0 if it may begin now, as work may that is smaller by a
   * fifth than all late work.
   * @param nameOf answers a text that work of the same kind has in common. It is called only if there is late work.
   */
  waitSeconds(accountId: string, nameOf: () => string, size: number): number {
    this.#forgetOld();
    if (this.#late.size === 0) return 0;
    const late = this.#late.get(keyOf(accountId, nameOf()));
    if (late === undefined || size < AS_MUCH * late.size) return 0;
    return Math.ceil((late.sinceMs + LATE_MS - this.#clock.elapsedMs()) / 1_000);
  }

  /**
   * Milliseconds for which the refusal of work that may not begin yet is held back: 0 where the account had none in the
   * last second. A client that sends such work again at once would otherwise keep the cores busy with the bodies alone.
   */
  holdMs(accountId: string): number {
    return this.#refusals.next(accountId, { waitMs: 0, spaceMs: REFUSAL_SPACE_MS });
  }

  #forgetOld(): void {
    for (const [key, { sinceMs }] of this.#late) {
      if (this.#clock.elapsedMs() - sinceMs < LATE_MS) return;
      this.#late.delete(key);
    }
  }
}

function keyOf(accountId: string, name: string): string {
  return `${accountId} ${name}`;
}
