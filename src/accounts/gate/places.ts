import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, systemClock } from '../../clock/clock.ts';
import type {
  AdmitAnswer,
  AdmitQuestion,
  Coordination,
  HeldPlace,
  PlaceQuestion,
} from '../../stores/coordination/port.ts';
import { surely } from '../../stores/coordination/surely.ts';

/** Longer than any synchronous call can take, upload included. */
const LONGEST_CALL_MS = 120_000;
/** So long a place goes from call to call before coordination is asked for it again. */
const KEPT_MS = 30_000;
/** Whichever call has a place keeps it to its end; the end of the lease only heals what a dead process left. */
const PLACE_LEASE_MS = LONGEST_CALL_MS + KEPT_MS;
/** Pauses before each further look for a place. */
const SECOND_LOOKS_MS = [10, 30];
/**
 * A place that comes back waits so long for the account's next call here, which takes it over, or for a question that it can
 * go along with: a trip of its own costs as much CPU as the question. It is back before the last of the further looks.
 */
const COMPANY_MS = 20;

/** What an account has a number of places for: synchronous image calls, and calls that wait for a job. */
export type PlaceKind = 'calls' | 'waits';

/** A place for one call after the other. */
export interface CallPlace extends PlaceQuestion {
  /** Elapsed milliseconds until which it may be taken over: null before coordination has given it. */
  keptUntilMs: number | null;
}

/** The places of this process's calls: asked for, held until their work has ended, and given back. */
export interface Places {
  /** Asks a question; places that come back just now go along, so that they cost no trip of their own. */
  ask(question: AdmitQuestion, place?: CallPlace | null): Promise<AdmitAnswer>;
  /**
   * Looks again for a place that is just given back. A client may have its answer and send its next call, through
   * another process, before the place of the one before is back.
   */
  takeSoon(place: CallPlace): Promise<boolean>;
  /** A place that has just come back from another call of the account, or one that has to be asked for. */
  placeFor(key: string, limit: number): CallPlace;
  /** Whether the call may have it without a question. */
  isHeld(place: CallPlace): boolean;
  /** Gives the place back when the connection is done with the call and the work behind it has ended. */
  hold(request: FastifyRequest, reply: FastifyReply, place: CallPlace): void;
  /** Gives back the place of a call that was refused, if it had one. */
  giveBack(place: CallPlace): void;
  /** Keeps the place of a request until `work` has really ended, though the answer may go out earlier. */
  keepUntil(request: FastifyRequest, work: Promise<unknown>): void;
}

/** @param holder of all places of this process: `<hostId>/<processId>`. */
export function createPlaces(
  coordination: Coordination,
  holder: string,
  { elapsedMs, after }: Pick<Clock, 'elapsedMs' | 'after'> = systemClock,
): Places {
  /** What has to end before the place of a request comes back. */
  const works = new WeakMap<FastifyRequest, Promise<unknown>>();
  /** What has come back, the latest last. */
  let returning: { place: CallPlace; sinceMs: number }[] = [];
  let isTimed = false;
  let holders = 0;

  function giveBack(place: CallPlace): void {
    if (place.keptUntilMs === null) return;
    returning.push({ place, sinceMs: elapsedMs() });
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
    for (const { place } of returning.filter(({ sinceMs }) => sinceMs <= dueMs)) giveBackAlone(place);
    returning = returning.filter(({ sinceMs }) => sinceMs > dueMs);
    const [oldest] = returning;
    if (oldest !== undefined) giveBackIn(oldest.sinceMs - dueMs);
  }

  function takeReturning(): HeldPlace[] {
    const taken = returning.map(({ place: { key, holder } }) => ({ key, holder }));
    returning = [];
    return taken;
  }

  /** Gives up without a word at the end of the lease, which gives the place back as well. */
  function giveBackAlone({ key, holder }: HeldPlace): void {
    surely(() => coordination.releasePlace(key, holder), PLACE_LEASE_MS).catch(() => undefined);
  }

  /** Asks for a place, and notes from before the question on how long it may go from call to call. */
  async function askFor(place: CallPlace, question: AdmitQuestion): Promise<AdmitAnswer> {
    const keptUntilMs = elapsedMs() + KEPT_MS;
    const { key, holder, limit, leaseMs } = place;
    const answer = await coordination.admit({ ...question, place: { key, holder, limit, leaseMs } });
    if (answer.place) place.keptUntilMs = keptUntilMs;
    return answer;
  }

  return {
    async ask(question, place = null) {
      const returned = takeReturning();
      const whole = returned.length === 0 ? question : { ...question, returned };
      try {
        return await (place === null ? coordination.admit(whole) : askFor(place, whole));
      } catch (error) {
        returned.forEach(giveBackAlone);
        // Whether it was taken is not known.
        if (place !== null) giveBackAlone(place);
        throw error;
      }
    },
    async takeSoon(place) {
      for (const pauseMs of SECOND_LOOKS_MS) {
        await sleep(pauseMs);
        const answer = await askFor(place, {});
        if (answer.place) return true;
      }
      return false;
    },
    placeFor(key, limit) {
      const at = returning.findLastIndex(({ place }) => place.key === key);
      const [back] = at === -1 ? [] : returning.splice(at, 1);
      if (back !== undefined) return back.place;
      holders += 1;
      return { key, holder: `${holder}/${holders}`, limit, leaseMs: PLACE_LEASE_MS, keptUntilMs: null };
    },
    isHeld: ({ keptUntilMs }) => keptUntilMs !== null && elapsedMs() < keptUntilMs,
    hold(request, reply, place) {
      works.set(request, Promise.resolve());
      const release = () => giveBack(place);
      const onceEnded = () => void works.get(request)?.then(release, release);
      // A client that left while the place was asked for closes nothing any more.
      if (reply.raw.destroyed) onceEnded();
      else reply.raw.once('close', onceEnded);
    },
    giveBack,
    keepUntil(request, work) {
      if (works.has(request)) works.set(request, work);
    },
  };
}
