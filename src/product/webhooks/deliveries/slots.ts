/** An attempt that takes longer makes its endpoint slow. */
const SLOW_MS = 2_000;
/** The length after which a turn ends when every slot is taken. */
const TURN_MS = 1_000;
/** The most slow endpoints that are remembered; the first one is forgotten first. */
const MAX_REMEMBERED_ENDPOINTS = 10_000;

interface AttemptSlotsOptions {
  /** The most endpoint workers that run at once, by the current setting. */
  slots: () => number;
  /** The most of them for one account, its test deliveries included. */
  slotsOfAccount: () => number;
  /** Milliseconds on a monotonic clock. */
  now: () => number;
}

/** A running worker. */
export interface Turn {
  /** Whether the worker may make another attempt, with regard to the other workers. */
  mayGoOn(): boolean;
  /**
   * Records the result of an attempt: the endpoint is slow after a failed or long one, and no longer slow after
   * another.
   */
  attempted(hasFailed: boolean, tookMs: number): void;
  release(): void;
}

/**
 * Shares the slots for webhook attempts. An endpoint whose last attempt failed or took over 2 s is slow, and slow
 * endpoints together hold at most half of the slots (at least one), which leaves the other half to fast endpoints.
 */
export interface AttemptSlots {
  readonly free: number;
  isSlow(member: string): boolean;
  /**
   * Takes a slot for a worker; null when its account has none left, or it is slow and slow endpoints hold their half.
   */
  begin(accountId: string, member: string): Turn | null;
  /**
   * Takes only a slot of the account, for a test delivery; null when all are taken. @returns the function that frees
   * it.
   */
  takeSlot(accountId: string): (() => void) | null;
}

export function createSlots({ slots, slotsOfAccount, now }: AttemptSlotsOptions): AttemptSlots {
  const taken = new Map<string, number>();
  const held = new Set<string>();
  const slow = new Set<string>();

  /** The number of other slow endpoints with a running worker. */
  function otherSlow(member: string): number {
    let count = 0;
    for (const other of held) if (other !== member && slow.has(other)) count += 1;
    return count;
  }

  function fits(member: string): boolean {
    return !slow.has(member) || otherSlow(member) < Math.max(1, Math.floor(slots() / 2));
  }

  function remember(member: string): void {
    slow.add(member);
    const [first] = slow;
    if (slow.size > MAX_REMEMBERED_ENDPOINTS && first !== undefined) slow.delete(first);
  }

  function takeSlot(accountId: string): (() => void) | null {
    const ofAccount = taken.get(accountId) ?? 0;
    if (ofAccount >= slotsOfAccount()) return null;
    taken.set(accountId, ofAccount + 1);
    return () => {
      const remaining = (taken.get(accountId) ?? 1) - 1;
      if (remaining === 0) taken.delete(accountId);
      else taken.set(accountId, remaining);
    };
  }

  return {
    get free() {
      return slots() - held.size;
    },
    isSlow: (member) => slow.has(member),
    takeSlot,
    begin(accountId, member) {
      if (!fits(member)) return null;
      const releaseSlot = takeSlot(accountId);
      if (releaseSlot === null) return null;
      held.add(member);
      const beganMs = now();
      let hasFailed = false;
      return {
        mayGoOn() {
          const isOver = held.size >= slots() && now() - beganMs >= TURN_MS;
          return !hasFailed && !isOver && fits(member);
        },
        attempted(failed, tookMs) {
          hasFailed = failed;
          if (failed || tookMs > SLOW_MS) remember(member);
          else slow.delete(member);
        },
        release() {
          held.delete(member);
          releaseSlot();
        },
      };
    },
  };
}
