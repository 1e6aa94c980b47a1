import { LRUCache } from 'lru-cache';

/** An attempt that takes longer marks its endpoint as slow. */
const SLOW_MS = 2_000;
/** How long a worker may continue while every slot is taken. */
const TURN_MS = 1_000;
/** The most slow endpoints that are remembered. The oldest one is forgotten first. */
const MAX_REMEMBERED_ENDPOINTS = 10_000;

interface AttemptSlotsOptions {
  /** The most endpoint workers that run at once, by the current setting. */
  slots: () => number;
  /** The most endpoint workers of one account, including its test deliveries. */
  slotsOfAccount: () => number;
  /** Milliseconds on a monotonic clock. */
  now: () => number;
}

/** A running worker. */
export interface WorkerSlot {
  /** Whether the worker may make another attempt, considering the other workers. */
  mayGoOn(): boolean;
  /**
   * Records the result of an attempt. After a failed or long attempt the endpoint counts as slow, otherwise as fast.
   */
  attempted(hasFailed: boolean, tookMs: number): void;
  release(): void;
}

/**
 * Shares the slots for webhook attempts. An endpoint whose last attempt failed or took over 2 s is slow. Slow endpoints
 * together hold at most half of the slots (at least one), which leaves the other half to fast endpoints.
 */
export class AttemptSlots {
  readonly #slots: () => number;
  readonly #slotsOfAccount: () => number;
  readonly #now: () => number;
  readonly #taken = new Map<string, number>();
  readonly #held = new Set<string>();
  readonly #slow = new LRUCache<string, true>({ max: MAX_REMEMBERED_ENDPOINTS });

  constructor(options: AttemptSlotsOptions) {
    this.#slots = options.slots;
    this.#slotsOfAccount = options.slotsOfAccount;
    this.#now = options.now;
  }

  get free(): number {
    return this.#slots() - this.#held.size;
  }

  readonly isSlow = (member: string): boolean => this.#slow.has(member);

  /**
   * Takes only a slot of the account, for a test delivery. Null when all are taken.
   * @returns the function that frees it.
   */
  takeSlot(accountId: string): (() => void) | null {
    const ofAccount = this.#taken.get(accountId) ?? 0;
    if (ofAccount >= this.#slotsOfAccount()) return null;
    this.#taken.set(accountId, ofAccount + 1);
    return () => {
      const remaining = (this.#taken.get(accountId) ?? 1) - 1;
      if (remaining === 0) this.#taken.delete(accountId);
      else this.#taken.set(accountId, remaining);
    };
  }

  /**
   * Takes a slot for a worker. Null when its account has none left, or the endpoint is slow and slow endpoints hold
   * their half.
   */
  begin(accountId: string, member: string): WorkerSlot | null {
    if (!this.#fits(member)) return null;
    const releaseSlot = this.takeSlot(accountId);
    if (releaseSlot === null) return null;
    this.#held.add(member);
    const beganMs = this.#now();
    let hasFailed = false;
    return {
      mayGoOn: () => {
        const isOver = this.#held.size >= this.#slots() && this.#now() - beganMs >= TURN_MS;
        return !hasFailed && !isOver && this.#fits(member);
      },
      attempted: (failed, tookMs) => {
        hasFailed = failed;
        if (failed || tookMs > SLOW_MS) this.#slow.set(member, true);
        else this.#slow.delete(member);
      },
      release: () => {
        this.#held.delete(member);
        releaseSlot();
      },
    };
  }

  /** The number of other slow endpoints with a running worker. */
  #otherSlow(member: string): number {
    let count = 0;
    for (const other of this.#held) if (other !== member && this.#slow.has(other)) count += 1;
    return count;
  }

  #fits(member: string): boolean {
    return !this.#slow.has(member) || this.#otherSlow(member) < Math.max(1, Math.floor(this.#slots() / 2));
  }
}
