import type { Clock } from '../../platform/clock.ts';

/** How long an account stays marked after one of its pages was stopped. */
export const SLOW_FOR_MS = 60_000;

/** Accounts whose last page had to be stopped. For the next minute their pages are drawn in a separate browser. */
export class SlowAccounts {
  readonly #clock: Clock;
  /**
   * End of each mark by account id, in milliseconds of the monotonic clock. The entries are in the order of the marks,
   * so the oldest come first.
   */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mark(accountId: string): void {
    this.#until.delete(accountId);
    this.#until.set(accountId, this.#clock.elapsedMs() + SLOW_FOR_MS);
    this.#forgetPast();
  }

  has(accountId: string): boolean {
    return (this.#until.get(accountId) ?? Number.NEGATIVE_INFINITY) > this.#clock.elapsedMs();
  }

  #forgetPast(): void {
    const nowMs = this.#clock.elapsedMs();
    for (const [accountId, endsMs] of this.#until) {
      if (endsMs > nowMs) return;
      this.#until.delete(accountId);
    }
  }
}
