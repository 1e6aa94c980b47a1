import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import type {
  AdmitAnswer,
  AdmitRequest,
  Coordination,
  HeldSlot,
  SlotTerms,
} from '../../../platform/stores/coordination/port.ts';
import { retryUntil } from '../../../platform/stores/outages.ts';

/** Longer than any synchronous call can take, upload included. */
const MAX_CALL_MS = 120_000;
/** How long a slot may pass from call to call before coordination is asked for it again. */
const KEPT_MS = 30_000;
/** A call keeps its slot until it ends; the lease expires only to free the slots of a dead process. */
const SLOT_LEASE_MS = MAX_CALL_MS + KEPT_MS;
/** How often the slot of a call that may take longer than its lease is renewed. */
const RENEW_MS = 60_000;
/** Pauses before each further attempt to take a slot. */
const RETRY_PAUSES_MS = [10, 30];
/**
 * How long a returned slot waits for the account's next call in this process, which takes it over, or for a request to
 * coordination that it can be sent with: a round trip of its own costs 0.2 to 0.45 ms of CPU, and a transform of 200 px
 * takes 2 ms. It is given back before the last of the further attempts.
 */
const PIGGYBACK_MS = 20;

/**
 * The kinds of slots of an account: for synchronous image calls, for calls that wait for a job, for downloads of many
 * files, and for those of them that come by a link.
 */
export type SlotKind = 'calls' | 'waits' | 'downloads' | 'linkDownloads';

/** A slot that serves calls in sequence. */
export interface CallSlot extends SlotTerms {
  /** Elapsed milliseconds until which it may be taken over; null before coordination has granted it. */
  keptUntilMs: number | null;
}

/** The slots of this process's calls: requested, held until their work has ended, and given back. */
export interface CallSlots {
  /** Sends a request; slots that were just returned go with it, so that they cost no round trip of their own. */
  admit(terms: AdmitRequest, slot?: CallSlot | null): Promise<AdmitAnswer>;
  /**
   * Tries again to take a slot that is about to be given back. A client may receive its response and send its next call
   * through another process before the slot of its previous call is free.
   */
  retryTake(slot: CallSlot): Promise<boolean>;
  /** A slot that another call of the account has just returned, or a new one that has to be requested. */
  slotFor(key: string, limit: number): CallSlot;
  /** Whether the call may have the slot without a request. */
  isHeld(slot: CallSlot): boolean;
  /** Gives the slot back when the connection has finished the call and its work has ended. */
  hold(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void;
  /** The same for a call that may take longer than the lease, such as a download: the slot is renewed meanwhile. */
  holdLong(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void;
  /** Gives back the slot of a call that was refused, if it had one. */
  giveBack(slot: CallSlot): void;
  /** Keeps the slot of a request until `work` has ended, though the response may be sent earlier. */
  keepUntil(request: FastifyRequest, work: Promise<unknown>): void;
}

/** @param holder the holder of all slots of this process: `<hostId>/<processId>`. */
export function createSlots(
  coordination: Coordination,
  holder: string,
  { elapsedMs, after }: Pick<Clock, 'elapsedMs' | 'after'> = systemClock,
): CallSlots {
  /** The work that has to end before the slot of a request is returned. */
  const works = new WeakMap<FastifyRequest, Promise<unknown>>();
  /** Returned slots, the latest last. */
  let returning: { slot: CallSlot; sinceMs: number }[] = [];
  let isTimed = false;
  let holders = 0;

  function giveBack(slot: CallSlot): void {
    if (slot.keptUntilMs === null) return;
    returning.push({ slot, sinceMs: elapsedMs() });
    if (!isTimed) releaseIn(PIGGYBACK_MS);
  }

  function releaseIn(delayMs: number): void {
    isTimed = true;
    after(delayMs, releaseDue);
  }

  /** Releases the slots that neither a call took over nor a request carried. */
  function releaseDue(): void {
    isTimed = false;
    const dueMs = elapsedMs() - PIGGYBACK_MS;
    for (const { slot } of returning.filter(({ sinceMs }) => sinceMs <= dueMs)) release(slot);
    returning = returning.filter(({ sinceMs }) => sinceMs > dueMs);
    const [oldest] = returning;
    if (oldest !== undefined) releaseIn(oldest.sinceMs - dueMs);
  }

  function takeReturning(): HeldSlot[] {
    const taken = returning.map(({ slot: { key, holder } }) => ({ key, holder }));
    returning = [];
    return taken;
  }

  /**
   * Releases a slot in a request of its own, retried until the lease ends. A final failure is ignored, because the
   * end of the lease frees the slot as well.
   */
  function release({ key, holder }: HeldSlot): void {
    retryUntil(() => coordination.releaseSlot(key, holder), SLOT_LEASE_MS).catch(() => undefined);
  }

  /** Requests a slot. The time for which it may pass from call to call starts before the request. */
  async function admitWith(slot: CallSlot, terms: AdmitRequest): Promise<AdmitAnswer> {
    const keptUntilMs = elapsedMs() + KEPT_MS;
    const { key, holder, limit, leaseMs } = slot;
    const answer = await coordination.admit({ ...terms, slot: { key, holder, limit, leaseMs } });
    if (answer.slot) slot.keptUntilMs = keptUntilMs;
    return answer;
  }

  function hold(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void {
    works.set(request, Promise.resolve());
    const end = () => giveBack(slot);
    const onceEnded = () => void works.get(request)?.then(end, end);
    // A client that disconnected while the slot was being requested triggers no close event any more.
    if (reply.raw.destroyed) onceEnded();
    else reply.raw.once('close', onceEnded);
  }

  /** Renews a slot until its connection has closed. After a failure, the next renewal follows as usual. */
  function renewUntilClosed(reply: FastifyReply, { key, holder, leaseMs }: CallSlot): void {
    let cancel = () => {};
    function renewLater(): void {
      cancel = after(RENEW_MS, () => {
        coordination.renewSlot(key, holder, leaseMs).catch(() => undefined);
        renewLater();
      });
    }
    renewLater();
    reply.raw.once('close', () => cancel());
  }

  return {
    async admit(terms, slot = null) {
      const returned = takeReturning();
      const full = returned.length === 0 ? terms : { ...terms, returned };
      try {
        return await (slot === null ? coordination.admit(full) : admitWith(slot, full));
      } catch (error) {
        returned.forEach(release);
        // It is unknown whether the slot was taken.
        if (slot !== null) release(slot);
        throw error;
      }
    },
    async retryTake(slot) {
      for (const pauseMs of RETRY_PAUSES_MS) {
        await sleep(pauseMs);
        const answer = await admitWith(slot, {});
        if (answer.slot) return true;
      }
      return false;
    },
    slotFor(key, limit) {
      const at = returning.findLastIndex(({ slot }) => slot.key === key);
      const [returned] = at === -1 ? [] : returning.splice(at, 1);
      if (returned !== undefined) return returned.slot;
      holders += 1;
      return { key, holder: `${holder}/${holders}`, limit, leaseMs: SLOT_LEASE_MS, keptUntilMs: null };
    },
    isHeld: ({ keptUntilMs }) => keptUntilMs !== null && elapsedMs() < keptUntilMs,
    hold,
    holdLong(request, reply, slot) {
      hold(request, reply, slot);
      if (!reply.raw.destroyed) renewUntilClosed(reply, slot);
    },
    giveBack,
    keepUntil(request, work) {
      if (works.has(request)) works.set(request, work);
    },
  };
}
