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

/** Members with their due instants, as the port promises them (Coordination.schedule and what follows it). */
export interface DueSet {
  schedule(member: string, afterMs: number): void;
  claim(limit: number, leaseMs: number, holder: string): DueClaims;
  renew(member: string, holder: string, leaseMs: number): boolean;
  settle(member: string, holder: string, afterMs: number | null): number | null;
  releaseOf(prefix: string): void;
}

/** @param now returns epoch milliseconds. */
export function createDueSet(now: () => number): DueSet {
  const slots = new Map<string, Slot>();
  /** It may contain outdated entries of rescheduled members, which are dropped when they reach its front. */
  const turns = new TinyQueue<Turn>([], (a, b) => a.claimableMs - b.claimableMs);

  function put(member: string, slot: Slot): void {
    slots.set(member, slot);
    turns.push({ member, claimableMs: slot.claimableMs });
  }

  /** The first entry that is not outdated. */
  function first(): Turn | undefined {
    for (let turn = turns.peek(); turn !== undefined; turn = turns.peek()) {
      if (slots.get(turn.member)?.claimableMs === turn.claimableMs) return turn;
      turns.pop();
    }
    return undefined;
  }

  return {
    schedule(member, afterMs) {
      const dueMs = now() + afterMs;
      const slot = slots.get(member);
      if (slot === undefined) put(member, { claimableMs: dueMs, holder: null, askedMs: null });
      else if (slot.holder !== null) slot.askedMs = earliest(slot.askedMs, dueMs);
      else if (dueMs < slot.claimableMs) put(member, { ...slot, claimableMs: dueMs });
    },
    claim(limit, leaseMs, holder) {
      const nowMs = now();
      const members: string[] = [];
      for (let turn = first(); turn && turn.claimableMs <= nowMs; turn = first()) {
        if (members.length === limit) return { members, nextInMs: 0 };
        put(turn.member, { claimableMs: nowMs + leaseMs, holder, askedMs: null });
        members.push(turn.member);
      }
      const next = first();
      return { members, nextInMs: next === undefined ? null : next.claimableMs - nowMs };
    },
    renew(member, holder, leaseMs) {
      const slot = slots.get(member);
      if (slot !== undefined && isAnothers(slot, holder)) return false;
      put(member, { claimableMs: now() + leaseMs, holder, askedMs: otherInstant(slot) });
      return true;
    },
    settle(member, holder, afterMs) {
      const slot = slots.get(member);
      const saidMs = afterMs === null ? null : now() + afterMs;
      if (slot !== undefined && isAnothers(slot, holder)) {
        if (saidMs !== null) slot.askedMs = earliest(slot.askedMs, saidMs);
        return null;
      }
      const otherMs = otherInstant(slot);
      const dueMs = otherMs === null ? saidMs : earliest(saidMs, otherMs);
      if (dueMs === null) {
        slots.delete(member);
        return null;
      }
      put(member, { claimableMs: dueMs, holder: null, askedMs: null });
      return Math.max(dueMs - now(), 0);
    },
    releaseOf(prefix) {
      const claimableMs = now();
      for (const [member, { holder }] of [...slots]) {
        if (holder?.startsWith(prefix)) put(member, { claimableMs, holder: null, askedMs: null });
      }
    },
  };
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
