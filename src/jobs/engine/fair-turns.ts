/** What takes turns: the jobs of the accounts. */
export interface Turn {
  jobId: string;
  accountId: string;
}

/**
 * Whose turn it is: the account that was served least recently, and of its jobs the one served least recently. Served is
 * who was given a turn, whatever came of it.
 */
export class FairTurns<T extends Turn> {
  readonly #entries = new Map<string, T>();
  readonly #servedAccounts = new Map<string, number>();
  readonly #servedJobs = new Map<string, number>();
  #turn = 0;

  get(jobId: string): T | undefined {
    return this.#entries.get(jobId);
  }

  values(): Iterable<T> {
    return this.#entries.values();
  }

  add(entry: T): void {
    this.#entries.set(entry.jobId, entry);
  }

  remove(jobId: string): void {
    const entry = this.#entries.get(jobId);
    this.#entries.delete(jobId);
    this.#servedJobs.delete(jobId);
    if (entry === undefined) return;
    for (const { accountId } of this.#entries.values()) if (accountId === entry.accountId) return;
    this.#servedAccounts.delete(entry.accountId);
  }

  /** Gives the next turn to one that can take it; undefined when none can. */
  next(canTake: (entry: T) => boolean): T | undefined {
    let first: T | undefined;
    for (const entry of this.#entries.values()) {
      if (!canTake(entry)) continue;
      if (first === undefined || this.#isBefore(entry, first)) first = entry;
    }
    if (first === undefined) return undefined;
    this.#turn += 1;
    this.#servedAccounts.set(first.accountId, this.#turn);
    this.#servedJobs.set(first.jobId, this.#turn);
    return first;
  }

  #isBefore(one: T, other: T): boolean {
    const accounts = this.#served(this.#servedAccounts, one.accountId, other.accountId);
    return accounts !== 0 ? accounts < 0 : this.#served(this.#servedJobs, one.jobId, other.jobId) < 0;
  }

  #served(turns: ReadonlyMap<string, number>, one: string, other: string): number {
    return (turns.get(one) ?? 0) - (turns.get(other) ?? 0);
  }
}
