/** The resources of an account: credits, the runs that its plan gives it in a month, and room for assets. */
export interface Resources {
  credits: number;
  runsAMonth: number;
  /** Credits of a run past those. */
  overage: number;
  places: number;
}

/** The hold of one job. */
interface Hold {
  runs: number;
  /** Those that the plan did not cover at the submit. */
  past: number;
  month: string;
}

/** The rules of the interface for what jobs hold, and what they cost at their end; each item is a run and an asset. */
export class AccountModel {
  readonly #resources: Resources;
  readonly #holds = new Map<string, Hold>();
  #month = '';
  balance: number;
  held = 0;
  /** Runs of the month that are used or held. */
  used = 0;
  stored = 0;

  constructor(resources: Resources) {
    this.#resources = resources;
    this.balance = resources.credits;
  }

  /**
   * Codes with which a submit of that many items is refused; none when it may run. Either one is right where both hold.
   */
  refusals(items: number, month: string): string[] {
    const isTooDear = this.#past(items, month) * this.#resources.overage > this.balance - this.held;
    const isTooMuch = this.stored + items > this.#resources.places;
    return [...(isTooDear ? ['insufficient_credit'] : []), ...(isTooMuch ? ['asset_count_exceeded'] : [])];
  }

  hold(jobId: string, items: number, month: string): void {
    const past = this.#past(items, month);
    this.beginMonth(month);
    this.used += items;
    this.held += past * this.#resources.overage;
    this.stored += items;
    this.#holds.set(jobId, { runs: items, past, month });
  }

  /**
   * A month begins with the first hold that is asked for in it, granted or not. A submit without room for its assets
   * asks for no hold.
   */
  beginMonth(month: string): void {
    if (month <= this.#month) return;
    this.#month = month;
    this.used = 0;
  }

  /** A job ended: what it used is paid, the rest is given back. The plan's runs are used up first. */
  settle(jobId: string, used: { runs: number; outputs: number }): void {
    const hold = this.#holds.get(jobId);
    if (hold === undefined) return;
    this.#holds.delete(jobId);
    const { overage } = this.#resources;
    this.balance -= Math.max(0, used.runs - (hold.runs - hold.past)) * overage;
    this.held -= hold.past * overage;
    if (hold.month === this.#month) this.used -= hold.runs - used.runs;
    this.stored -= hold.runs - used.outputs;
  }

  #past(items: number, month: string): number {
    const used = month > this.#month ? 0 : this.used;
    return Math.max(0, items - Math.max(0, this.#resources.runsAMonth - used));
  }
}
