import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type {
  AdmitAnswer,
  AdmitQuestion,
  Coordination,
  HeldPlace,
  PlaceQuestion,
} from '../../stores/coordination/port.ts';
import { surely } from '../../stores/coordination/surely.ts';

/** Longer than any synchronous call can take, upload included: it only heals what a dead process left. */
const PLACE_LEASE_MS = 120_000;
/** Pauses before each further look for a place. */
const SECOND_LOOKS_MS = [10, 30];
/**
 * A place that comes back waits so long for a question that it can go along with; a trip of its own costs as much CPU as
 * the question. It is back before the last of the further looks.
 */
const COMPANY_MS = 20;

/** The places of this process's calls: asked for, held until their work has ended, and given back. */
export interface Places {
  /** Asks a question; places that come back just now go along, so that they cost no trip of their own. */
  ask(question: AdmitQuestion): Promise<AdmitAnswer>;
  /**
   * Looks again for a place that is just given back. A client may have its answer and send its next call, through
   * another process, before the place of the one before is back.
   */
  takeSoon(place: PlaceQuestion): Promise<boolean>;
  /** A place that no call holds yet. */
  questionFor(key: string, limit: number): PlaceQuestion;
  /** Gives the place back when the connection is done with the call and the work behind it has ended. */
  hold(request: FastifyRequest, reply: FastifyReply, place: PlaceQuestion): void;
  /** Keeps the place of a request until `work` has really ended, though the answer may go out earlier. */
  keepUntil(request: FastifyRequest, work: Promise<unknown>): void;
}

/** @param holder of all places of this process: `<hostId>/<processId>`. */
export function createPlaces(coordination: Coordination, holder: string): Places {
  /** What has to end before the place of a request comes back. */
  const works = new WeakMap<FastifyRequest, Promise<unknown>>();
  let returning: HeldPlace[] = [];
  let holders = 0;

  function giveBack(place: HeldPlace): void {
    returning.push(place);
    if (returning.length === 1) setTimeout(() => takeReturning().forEach(giveBackAlone), COMPANY_MS);
  }

  function takeReturning(): HeldPlace[] {
    const taken = returning;
    returning = [];
    return taken;
  }

  /** Gives up without a word at the end of the lease, which gives the place back as well. */
  function giveBackAlone({ key, holder }: HeldPlace): void {
    surely(() => coordination.releasePlace(key, holder), PLACE_LEASE_MS).catch(() => undefined);
  }

  return {
    async ask(question) {
      const returned = takeReturning();
      try {
        return await coordination.admit(returned.length === 0 ? question : { ...question, returned });
      } catch (error) {
        returned.forEach(giveBackAlone);
        throw error;
      }
    },
    async takeSoon(place) {
      for (const pauseMs of SECOND_LOOKS_MS) {
        await sleep(pauseMs);
        const answer = await coordination.admit({ place });
        if (answer.place) return true;
      }
      return false;
    },
    questionFor(key, limit) {
      holders += 1;
      return { key, holder: `${holder}/${holders}`, limit, leaseMs: PLACE_LEASE_MS };
    },
    hold(request, reply, { key, holder }) {
      works.set(request, Promise.resolve());
      const release = () => giveBack({ key, holder });
      const onceEnded = () => void works.get(request)?.then(release, release);
      // A client that left while the place was asked for closes nothing any more.
      if (reply.raw.destroyed) onceEnded();
      else reply.raw.once('close', onceEnded);
    },
    keepUntil(request, work) {
      if (works.has(request)) works.set(request, work);
    },
  };
}
