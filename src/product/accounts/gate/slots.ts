import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, systemClock } from '../../../platform/clock/clock.ts';
import type {
  AdmitAnswer,
  AdmitQuestion,
  Coordination,
  HeldSlot,
  SlotQuestion,
} from '../../../platform/stores/coordination/port.ts';
import { retryUntil } from '../../../platform/stores/coordination/retry-until.ts';

/** Longer than any synchronous call can take, upload included. */
const LONGEST_CALL_MS = 120_000;
/** So long a slot goes from call to call before coordination is asked for it again. */
const KEPT_MS = 30_000;
/** Whichever call has a slot keeps it to its end; the end of the lease only heals what a dead process left. */
const SLOT_LEASE_MS = LONGEST_CALL_MS + KEPT_MS;
/** Pauses before each further look for a slot. */
const SECOND_LOOKS_MS = [10, 30];
/**
 * A slot that comes back waits so long for the account's next call here, which takes it over, or for a question that it
 * can go along with: a trip of its own costs as much CPU as the question. It is back before the last of the further
 * looks.
 */
const COMPANY_MS = 20;

/** The kinds of slots of an account: for synchronous image calls, and for calls that wait for a job. */
export type SlotKind = 'calls' | 'waits';

/** A slot for one call after the other. */
export interface CallSlot extends SlotQuestion {
  /** Elapsed milliseconds until which it may be taken over: null before coordination has given it. */
  keptUntilMs: number | null;
}

/** The slots of this process's calls: asked for, held until their work has ended, and given back. */
export interface Slots {
  /** Asks a question; slots that come back just now go along, so that they cost no trip of their own. */
  ask(question: AdmitQuestion, slot?: CallSlot | null): Promise<AdmitAnswer>;
  /**
   * Looks again for a slot that is just given back. A client may have its answer and send its next call, through
   * another process, before the slot of the one before is back.
   */
  takeSoon(slot: CallSlot): Promise<boolean>;
  /** A slot that has just come back from another call of the account, or one that has to be asked for. */
  slotFor(key: string, limit: number): CallSlot;
  /** Whether the call may have it without a question. */
  isHeld(slot: CallSlot): boolean;
  /** Gives the slot back when the connection is done with the call and the work behind it has ended. */
  hold(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void;
  /** Gives back the slot of a call that was refused, if it had one. */
  giveBack(slot: CallSlot): void;
  /** Keeps the slot of a request until `work` has really ended, though the answer may go out earlier. */
  keepUntil(request: FastifyRequest, work: Promise<unknown>): void;
}

/** @param holder of all slots of this process: `<hostId>/<processId>`. */
export function createSlots(
  coordination: Coordination,
  holder: string,
  { elapsedMs, after }: Pick<Clock, 'elapsedMs' | 'after'> = systemClock,
): Slots {
  /** The work that has to end before the slot of a request comes back. */
  const works = new WeakMap<FastifyRequest, Promise<unknown>>();
  /** The slots that have come back, the latest last. */
  let returning: { slot: CallSlot; sinceMs: number }[] = [];
  let isTimed = false;
  let holders = 0;

  function giveBack(slot: CallSlot): void {
    if (slot.keptUntilMs === null) return;
    returning.push({ slot, sinceMs: elapsedMs() });
    if (!isTimed) giveBackIn(COMPANY_MS);
  }

  function giveBackIn(delayMs: number): void {
    isTimed = true;
    after(delayMs, giveBackLonely);
  }

  /** Gives back what found neither a call nor a question to go along with. */
  function giveBackLonely(): void {
    isTimed = false;
    const dueMs = elapsedMs() - COMPANY_MS;
    for (const { slot } of returning.filter(({ sinceMs }) => sinceMs <= dueMs)) giveBackAlone(slot);
    returning = returning.filter(({ sinceMs }) => sinceMs > dueMs);
    const [oldest] = returning;
    if (oldest !== undefined) giveBackIn(oldest.sinceMs - dueMs);
  }

  function takeReturning(): HeldSlot[] {
    const taken = returning.map(({ slot: { key, holder } }) => ({ key, holder }));
    returning = [];
    return taken;
  }

  /** Gives up without a word at the end of the lease, which gives the slot back as well. */
  function giveBackAlone({ key, holder }: HeldSlot): void {
    retryUntil(() => coordination.releaseSlot(key, holder), SLOT_LEASE_MS).catch(() => undefined);
  }

  /** Asks for a slot, and notes from before the question on how long it may go from call to call. */
  async function askFor(slot: CallSlot, question: AdmitQuestion): Promise<AdmitAnswer> {
    const keptUntilMs = elapsedMs() + KEPT_MS;
    const { key, holder, limit, leaseMs } = slot;
    const answer = await coordination.admit({ ...question, slot: { key, holder, limit, leaseMs } });
    if (answer.slot) slot.keptUntilMs = keptUntilMs;
    return answer;
  }

  return {
    async ask(question, slot = null) {
      const returned = takeReturning();
      const whole = returned.length === 0 ? question : { ...question, returned };
      try {
        return await (slot === null ? coordination.admit(whole) : askFor(slot, whole));
      } catch (error) {
        returned.forEach(giveBackAlone);
        // Whether it was taken is not known.
        if (slot !== null) giveBackAlone(slot);
        throw error;
      }
    },
    async takeSoon(slot) {
      for (const pauseMs of SECOND_LOOKS_MS) {
        await sleep(pauseMs);
        const answer = await askFor(slot, {});
        if (answer.slot) return true;
      }
      return false;
    },
    slotFor(key, limit) {
      const at = returning.findLastIndex(({ slot }) => slot.key === key);
      const [back] = at === -1 ? [] : returning.splice(at, 1);
      if (back !== undefined) return back.slot;
      holders += 1;
      return { key, holder: `${holder}/${holders}`, limit, leaseMs: SLOT_LEASE_MS, keptUntilMs: null };
    },
    isHeld: ({ keptUntilMs }) => keptUntilMs !== null && elapsedMs() < keptUntilMs,
    hold(request, reply, slot) {
      works.set(request, Promise.resolve());
      const release = () => giveBack(slot);
      const onceEnded = () => void works.get(request)?.then(release, release);
      // A client that left while the slot was asked for closes nothing any more.
      if (reply.raw.destroyed) onceEnded();
      else reply.raw.once('close', onceEnded);
    },
    giveBack,
    keepUntil(request, work) {
      if (works.has(request)) works.set(request, work);
    },
  };
}
