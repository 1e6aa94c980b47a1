import { LRUCache } from 'lru-cache';

/** The duration of an attempt above which its endpoint counts as slow, in milliseconds. */
const MIN_SLOW_ATTEMPT_MS = 2_000;
/** How long a worker may keep its slot while others wait for one, in milliseconds. */
const MAX_WORKER_TURN_MS = 1_000;
/** The maximum number of slow endpoints that are remembered. The oldest one is forgotten first. */
const MAX_REMEMBERED_SLOW_ENDPOINTS = 10_000;

interface AttemptSlotsOptions {
  /** Returns the maximum number of endpoint workers that run at once. It is a setting, which may change. */
  slots: () => number;
  /** Returns the maximum number of endpoint workers of one account. Test deliveries count as well. */
  slotsOfAccount: () => number;
  /** Milliseconds on a monotonic clock. */
  now: () => number;
}

export interface WorkerSlot {
  /** Whether the worker may make another attempt. If not, it should leave its slot to others. */
  mayContinue(): boolean;
  /**
   * Records the result of an attempt. After a failed or long attempt the endpoint counts as slow, otherwise as fast.
   */
  recordAttempt(hasFailed: boolean, durationMs: number): void;
  release(): void;
}

/**
 * Shares the slots for webhook attempts. An endpoint is slow if its last attempt failed or took longer than 2 s. All
 * slow endpoints together get at most half of the slots (but at least one), so that fast endpoints keep the other half.
 */
export class AttemptSlots {
  readonly #options: AttemptSlotsOptions;
  readonly #takenByAccount = new Map<string, number>();
  readonly #runningMembers = new Set<string>();
  readonly #slowMembers = new LRUCache<string, true>({ max: MAX_REMEMBERED_SLOW_ENDPOINTS });

  constructor(options: AttemptSlotsOptions) {
    this.#options = options;
  }

  get free(): number {
    return this.#options.slots() - this.#runningMembers.size;
  }

  readonly isSlow = (member: string): boolean => this.#slowMembers.has(member);

  /**
   * Takes one of the slots of an account, for a worker or a test delivery. Null when the account has none left.
   * @returns the function that frees the slot.
   */
  takeAccountSlot(accountId: string): (() => void) | null {
    const ofAccount = this.#takenByAccount.get(accountId) ?? 0;
    if (ofAccount >= this.#options.slotsOfAccount()) return null;
    this.#takenByAccount.set(accountId, ofAccount + 1);
    return () => {
      const remaining = (this.#takenByAccount.get(accountId) ?? 1) - 1;
      if (remaining === 0) this.#takenByAccount.delete(accountId);
      else this.#takenByAccount.set(accountId, remaining);
    };
  }

  /**
   * Takes a slot for a worker. Null when the account has none left, or when the endpoint is slow and slow endpoints
   * have used their half.
   */
  takeWorkerSlot(accountId: string, member: string): WorkerSlot | null {
    if (!this.#mayRun(member)) return null;
    const releaseSlot = this.takeAccountSlot(accountId);
    if (releaseSlot === null) return null;
    this.#runningMembers.add(member);
    const beganMs = this.#options.now();
    let hasFailed = false;
    return {
      mayContinue: () => {
        const isOver =
          this.#runningMembers.size >= this.#options.slots() &&
          this.#options.now() - beganMs >= MAX_WORKER_TURN_MS;
        return !hasFailed && !isOver && this.#mayRun(member);
      },
      recordAttempt: (attemptFailed, durationMs) => {
        hasFailed = attemptFailed;
        if (attemptFailed || durationMs > MIN_SLOW_ATTEMPT_MS) this.#slowMembers.set(member, true);
        else this.#slowMembers.delete(member);
      },
      release: () => {
        this.#runningMembers.delete(member);
        releaseSlot();
      },
    };
  }

  #mayRun(member: string): boolean {
    if (!this.#slowMembers.has(member)) return true;
    const others = this.#runningMembers
      .values()
      .filter((other) => other !== member && this.#slowMembers.has(other));
    return others.toArray().length < Math.max(1, Math.floor(this.#options.slots() / 2));
  }
}
