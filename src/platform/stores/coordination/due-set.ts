import TinyQueue from 'tinyqueue';
import type { DueClaims } from './port.ts';

interface DueEntry {
  /** When the member may be claimed: its due instant, or the end of its claim. */
  claimableMs: number;
  holder: string | null;
  /** The earliest instant that was scheduled while it was claimed. */
  scheduledMs: number | null;
}

interface QueueEntry {
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
  const entries = new Map<string, DueEntry>();
  /** It may contain outdated entries of rescheduled members, which are dropped when they reach its front. */
  const queue = new TinyQueue<QueueEntry>([], (a, b) => a.claimableMs - b.claimableMs);

  function put(member: string, entry: DueEntry): void {
    entries.set(member, entry);
    queue.push({ member, claimableMs: entry.claimableMs });
  }

  /** The first entry that is not outdated. */
  function first(): QueueEntry | undefined {
    for (let front = queue.peek(); front !== undefined; front = queue.peek()) {
      if (entries.get(front.member)?.claimableMs === front.claimableMs) return front;
      queue.pop();
    }
    return undefined;
  }

  return {
    schedule(member, afterMs) {
      const dueMs = now() + afterMs;
      const entry = entries.get(member);
      if (entry === undefined) put(member, { claimableMs: dueMs, holder: null, scheduledMs: null });
      else if (entry.holder !== null) entry.scheduledMs = earliest(entry.scheduledMs, dueMs);
      else if (dueMs < entry.claimableMs) put(member, { ...entry, claimableMs: dueMs });
    },
    claim(limit, leaseMs, holder) {
      const nowMs = now();
      const members: string[] = [];
      for (let front = first(); front && front.claimableMs <= nowMs; front = first()) {
        if (members.length === limit) return { members, nextInMs: 0 };
        put(front.member, { claimableMs: nowMs + leaseMs, holder, scheduledMs: null });
        members.push(front.member);
      }
      const next = first();
      return { members, nextInMs: next === undefined ? null : next.claimableMs - nowMs };
    },
    renew(member, holder, leaseMs) {
      const entry = entries.get(member);
      if (entry !== undefined && isAnothers(entry, holder)) return false;
      put(member, { claimableMs: now() + leaseMs, holder, scheduledMs: otherInstant(entry) });
      return true;
    },
    settle(member, holder, afterMs) {
      const entry = entries.get(member);
      const ownMs = afterMs === null ? null : now() + afterMs;
      if (entry !== undefined && isAnothers(entry, holder)) {
        if (ownMs !== null) entry.scheduledMs = earliest(entry.scheduledMs, ownMs);
        return null;
      }
      const otherMs = otherInstant(entry);
      const dueMs = otherMs === null ? ownMs : earliest(ownMs, otherMs);
      if (dueMs === null) {
        entries.delete(member);
        return null;
      }
      put(member, { claimableMs: dueMs, holder: null, scheduledMs: null });
      return Math.max(dueMs - now(), 0);
    },
    releaseOf(prefix) {
      const claimableMs = now();
      for (const [member, { holder }] of [...entries]) {
        if (holder?.startsWith(prefix)) put(member, { claimableMs, holder: null, scheduledMs: null });
      }
    },
  };
}

function isAnothers({ holder }: DueEntry, mine: string): boolean {
  return holder !== null && holder !== mine;
}

/** The instant that another process scheduled for a member, also if it did so after the claim was lost. */
function otherInstant(entry: DueEntry | undefined): number | null {
  if (entry === undefined) return null;
  return entry.holder === null ? entry.claimableMs : entry.scheduledMs;
}

function earliest(oneMs: number | null, otherMs: number): number {
  return oneMs === null ? otherMs : Math.min(oneMs, otherMs);
}
