import TinyQueue from 'tinyqueue';
import type { DueClaims } from './port.ts';

interface DueMemberState {
  /** When the member can be claimed: at its due time, or when its present claim ends. */
  claimableMs: number;
  holder: string | null;
  /** The earliest time that was scheduled while the member was claimed. */
  scheduledMs: number | null;
}

interface QueuedMember {
  member: string;
  claimableMs: number;
}

/**
 * The members of a due set with their due times. It implements `schedule`, `claimDue` and the other methods of
 * Coordination for due sets.
 */
export class DueMemberSet {
  readonly #now: () => number;
  readonly #entries = new Map<string, DueMemberState>();
  /**
   * The members, sorted by when they can be claimed. Outdated entries of rescheduled members are dropped when they
   * reach the front.
   */
  readonly #queue = new TinyQueue<QueuedMember>([], (a, b) => a.claimableMs - b.claimableMs);

  /** @param now returns epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  schedule(member: string, afterMs: number): void {
    const dueMs = this.#now() + afterMs;
    const entry = this.#entries.get(member);
    if (entry === undefined) this.#put(member, { claimableMs: dueMs, holder: null, scheduledMs: null });
    else if (entry.holder !== null) entry.scheduledMs = earlierOf(entry.scheduledMs, dueMs);
    else if (dueMs < entry.claimableMs) this.#put(member, { ...entry, claimableMs: dueMs });
  }

  claim(limit: number, leaseMs: number, holder: string): DueClaims {
    const nowMs = this.#now();
    const members: string[] = [];
    for (
      let front = this.#firstClaimable();
      front && front.claimableMs <= nowMs;
      front = this.#firstClaimable()
    ) {
      if (members.length === limit) return { members, nextInMs: 0 };
      this.#put(front.member, { claimableMs: nowMs + leaseMs, holder, scheduledMs: null });
      members.push(front.member);
    }
    const next = this.#firstClaimable();
    return { members, nextInMs: next === undefined ? null : next.claimableMs - nowMs };
  }

  renew(member: string, holder: string, leaseMs: number): boolean {
    const entry = this.#entries.get(member);
    if (entry !== undefined && isHeldByAnother(entry, holder)) return false;
    this.#put(member, {
      claimableMs: this.#now() + leaseMs,
      holder,
      scheduledMs: scheduledTimeOf(entry),
    });
    return true;
  }

  settle(member: string, holder: string, afterMs: number | null): number | null {
    const entry = this.#entries.get(member);
    const ownMs = afterMs === null ? null : this.#now() + afterMs;
    if (entry !== undefined && isHeldByAnother(entry, holder)) {
      if (ownMs !== null) entry.scheduledMs = earlierOf(entry.scheduledMs, ownMs);
      return null;
    }
    const scheduledMs = scheduledTimeOf(entry);
    const dueMs = scheduledMs === null ? ownMs : earlierOf(ownMs, scheduledMs);
    if (dueMs === null) {
      this.#entries.delete(member);
      return null;
    }
    this.#put(member, { claimableMs: dueMs, holder: null, scheduledMs: null });
    return Math.max(dueMs - this.#now(), 0);
  }

  releaseByPrefix(prefix: string): void {
    const claimableMs = this.#now();
    for (const [member, { holder }] of [...this.#entries]) {
      if (holder?.startsWith(prefix)) this.#put(member, { claimableMs, holder: null, scheduledMs: null });
    }
  }

  #put(member: string, entry: DueMemberState): void {
    this.#entries.set(member, entry);
    this.#queue.push({ member, claimableMs: entry.claimableMs });
  }

  /** The first entry that is not outdated. */
  #firstClaimable(): QueuedMember | undefined {
    for (let front = this.#queue.peek(); front !== undefined; front = this.#queue.peek()) {
      if (this.#entries.get(front.member)?.claimableMs === front.claimableMs) return front;
      this.#queue.pop();
    }
    return undefined;
  }
}

function isHeldByAnother({ holder }: DueMemberState, mine: string): boolean {
  return holder !== null && holder !== mine;
}

/**
 * The time for which `schedule` has scheduled a member. While the member is claimed, it is the time for which it was
 * scheduled during the claim.
 */
function scheduledTimeOf(entry: DueMemberState | undefined): number | null {
  if (entry === undefined) return null;
  return entry.holder === null ? entry.claimableMs : entry.scheduledMs;
}

function earlierOf(oneMs: number | null, otherMs: number): number {
  return oneMs === null ? otherMs : Math.min(oneMs, otherMs);
}
