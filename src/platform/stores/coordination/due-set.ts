import TinyQueue from 'tinyqueue';
import type { DueClaims } from './port.ts';

interface Slot {
  /** When the member may be claimed: its due instant, or the end of its claim. */
  claimableMs: number;
  holder: string | null;
  /** The earliest instant that was scheduled while it was claimed. */
  askedMs: number | null;
}

interface Turn {
  member: string;
  claimableMs: number;
}

/**
 * Members with their due instants in epoch milliseconds. The queue may contain outdated entries of rescheduled members,
 * which are dropped when they reach its front.
 */
export class DueSet {
  readonly #slots = new Map<string, Slot>();
  readonly #turns = new TinyQueue<Turn>([], (a, b) => a.claimableMs - b.claimableMs);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  schedule(member: string, afterMs: number): void {
    const dueMs = this.#now() + afterMs;
    const slot = this.#slots.get(member);
    if (slot === undefined) this.#put(member, { claimableMs: dueMs, holder: null, askedMs: null });
    else if (slot.holder !== null) slot.askedMs = earliest(slot.askedMs, dueMs);
    else if (dueMs < slot.claimableMs) this.#put(member, { ...slot, claimableMs: dueMs });
  }

  claim(limit: number, leaseMs: number, holder: string): DueClaims {
    const now = this.#now();
    const members: string[] = [];
    for (let turn = this.#first(); turn && turn.claimableMs <= now; turn = this.#first()) {
      if (members.length === limit) return { members, nextInMs: 0 };
      this.#put(turn.member, { claimableMs: now + leaseMs, holder, askedMs: null });
      members.push(turn.member);
    }
    const next = this.#first();
    return { members, nextInMs: next === undefined ? null : next.claimableMs - now };
  }

  renew(member: string, holder: string, leaseMs: number): boolean {
    const slot = this.#slots.get(member);
    if (slot !== undefined && isAnothers(slot, holder)) return false;
    this.#put(member, { claimableMs: this.#now() + leaseMs, holder, askedMs: otherInstant(slot) });
    return true;
  }

  settle(member: string, holder: string, afterMs: number | null): number | null {
    const slot = this.#slots.get(member);
    const saidMs = afterMs === null ? null : this.#now() + afterMs;
    if (slot !== undefined && isAnothers(slot, holder)) {
      if (saidMs !== null) slot.askedMs = earliest(slot.askedMs, saidMs);
      return null;
    }
    const otherMs = otherInstant(slot);
    const dueMs = otherMs === null ? saidMs : earliest(saidMs, otherMs);
    if (dueMs === null) {
      this.#slots.delete(member);
      return null;
    }
    this.#put(member, { claimableMs: dueMs, holder: null, askedMs: null });
    return Math.max(dueMs - this.#now(), 0);
  }

  releaseOf(prefix: string): void {
    const claimableMs = this.#now();
    for (const [member, { holder }] of [...this.#slots]) {
      if (holder?.startsWith(prefix)) this.#put(member, { claimableMs, holder: null, askedMs: null });
    }
  }

  #put(member: string, slot: Slot): void {
    this.#slots.set(member, slot);
    this.#turns.push({ member, claimableMs: slot.claimableMs });
  }

  /** The first entry that is not outdated. */
  #first(): Turn | undefined {
    for (let turn = this.#turns.peek(); turn !== undefined; turn = this.#turns.peek()) {
      if (this.#slots.get(turn.member)?.claimableMs === turn.claimableMs) return turn;
      this.#turns.pop();
    }
    return undefined;
  }
}

function isAnothers({ holder }: Slot, mine: string): boolean {
  return holder !== null && holder !== mine;
}

/** The instant that another process scheduled for a member, also if it did so after the claim was lost. */
function otherInstant(slot: Slot | undefined): number | null {
  if (slot === undefined) return null;
  return slot.holder === null ? slot.claimableMs : slot.askedMs;
}

function earliest(oneMs: number | null, otherMs: number): number {
  return oneMs === null ? otherMs : Math.min(oneMs, otherMs);
}
