/** What an account has: credits, the runs that its plan gives it in a month, and room for assets. */
export interface Means {
  credits: number;
  runsAMonth: number;
  /** Credits of a run past those. */
  overage: number;
  places: number;
}

/** What a job of so many runs holds. */
interface Hold {
  runs: number;
  /** Those that the plan did not cover at the submit. */
  past: number;
  month: string;
}

/** The rules of the interface for what jobs hold, and what they cost at their end; each item is a run and an asset. */
export class Purse {
  readonly #means: Means;
  readonly #holds = new Map<string, Hold>();
  #month = '';
  balance: number;
  held = 0;
  /** Runs of the month that are used or held. */
  used = 0;
  stored = 0;

  constructor(means: Means) {
    this.#means = means;
    this.balance = means.credits;
  }

  /**
   * Codes that a submit of so many items is refused with; none when it may run. Either one is right where both hold.
   */
  refusals(items: number, month: string): string[] {
    const isTooDear = this.#past(items, month) * this.#means.overage > this.balance - this.held;
    const isTooMuch = this.stored + items > this.#means.places;
    return [...(isTooDear ? ['insufficient_credit'] : []), ...(isTooMuch ? ['asset_count_exceeded'] : [])];
  }

  hold(jobId: string, items: number, month: string): void {
    const past = this.#past(items, month);
    this.turn(month);
    this.used += items;
    this.held += past * this.#means.overage;
    this.stored += items;
    this.#holds.set(jobId, { runs: items, past, month });
  }

  /** A month begins with the first hold that is asked for in it, granted or not. What has no places asks for none. */
  turn(month: string): void {
    if (month <= this.#month) return;
    this.#month = month;
    this.used = 0;
  }

  /** A job ended: what it used is paid, the rest is given back. The plan's runs are used up first. */
  settle(jobId: string, used: { runs: number; outputs: number }): void {
    const hold = this.#holds.get(jobId);
    if (hold === undefined) return;
    this.#holds.delete(jobId);
    const { overage } = this.#means;
    this.balance -= Math.max(0, used.runs - (hold.runs - hold.past)) * overage;
    this.held -= hold.past * overage;
    if (hold.month === this.#month) this.used -= hold.runs - used.runs;
    this.stored -= hold.runs - used.outputs;
  }

  #past(items: number, month: string): number {
    const used = month > this.#month ? 0 : this.used;
    return Math.max(0, items - Math.max(0, this.#means.runsAMonth - used));
  }
}
