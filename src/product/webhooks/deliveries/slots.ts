/** An attempt that took longer makes its endpoint a slow one. */
const SLOW_MS = 2_000;
/** A turn that lasted so long ends when every slot is taken. */
const TURN_MS = 1_000;
/** Slow endpoints that are remembered; the one found first is forgotten first. */
const MOST_REMEMBERED = 10_000;

export interface SlotsOptions {
  /** Endpoint workers at work at once, as it is set now. */
  slots: () => number;
  /** Endpoint workers of one account among them, its test deliveries included. */
  slotsOfAccount: () => number;
  /** Milliseconds on a monotonic clock. */
  now: () => number;
}

/** A worker at work. */
export interface Turn {
  /** Whether the worker may make another attempt, as far as other workers are concerned. */
  mayGoOn(): boolean;
  /** Takes how an attempt ended, which makes the endpoint a slow one or a good one again. */
  attempted(hasFailed: boolean, tookMs: number): void;
  leave(): void;
}

/**
 * Shares the slots for webhook attempts out. An endpoint whose last attempt failed or took over 2 s is slow, and slow
 * endpoints together hold at most half of the slots: the other half is there for those that answer.
 */
export interface Slots {
  readonly free: number;
  isSlow(member: string): boolean;
  /** Takes a slot for a worker; null when its account has no more, or it is slow and slow ones hold their half. */
  begin(accountId: string, member: string): Turn | null;
  /** Takes one of the account's slots alone, for a test delivery; null when all are taken. Answers how to leave it. */
  takeSlot(accountId: string): (() => void) | null;
}

export function createSlots({ slots, slotsOfAccount, now }: SlotsOptions): Slots {
  const taken = new Map<string, number>();
  const held = new Set<string>();
  const slow = new Set<string>();

  /** Slow workers at work beside this one. */
  function slowBeside(member: string): number {
    let count = 0;
    for (const other of held) if (other !== member && slow.has(other)) count += 1;
    return count;
  }

  function fits(member: string): boolean {
    return !slow.has(member) || slowBeside(member) < Math.max(1, Math.floor(slots() / 2));
  }

  function remember(member: string): void {
    slow.add(member);
    const [first] = slow;
    if (slow.size > MOST_REMEMBERED && first !== undefined) slow.delete(first);
  }

  function takeSlot(accountId: string): (() => void) | null {
    const ofAccount = taken.get(accountId) ?? 0;
    if (ofAccount >= slotsOfAccount()) return null;
    taken.set(accountId, ofAccount + 1);
    return () => {
      const left = (taken.get(accountId) ?? 1) - 1;
      if (left === 0) taken.delete(accountId);
      else taken.set(accountId, left);
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
      const leaveSlot = takeSlot(accountId);
      if (leaveSlot === null) return null;
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
        leave() {
          held.delete(member);
          leaveSlot();
        },
      };
    },
  };
}
