import { LRUCache } from 'lru-cache';
import { type Clock, systemClock } from '../../../platform/clock/clock.ts';
import type { AdmitAnswer, RateAnswer } from '../../../platform/stores/coordination/port.ts';
import type { Caller } from '../authentication.ts';
import { ADMISSION_TTL_MS } from '../revocations.ts';

/** Requests that a question counts ahead at most, for the calls after it. */
const MOST_AHEAD = 100;
const MOST_ACCOUNTS = 10_000;

/**
 * The last admission answers of coordination, so that most calls of a busy caller ask nothing. A call passes when its
 * caller was let in from the same network within the last tenth of a second, and a request of its account was counted
 * ahead for it. Requests are counted before they are made, so no limit is ever passed. What a process has counted ahead
 * and does not use, because it ends or its callers went elsewhere, is lost until the window turns: see RateQuestion for
 * how little.
 */
export interface AdmissionCache {
  /** The last word where it still holds, and the call counted by it; null where coordination has to be asked. */
  pass(caller: Caller, network: string): RateAnswer | null;
  /** The last word where it still holds, else the answer of `ask`. */
  admit(caller: Caller, network: string, question: Question): Promise<AdmitAnswer>;
  /** Requests of an account that this process has counted ahead and not made yet. */
  prepaidRequests(accountId: string): number;
}

/** The question to coordination about a caller. */
export interface Question {
  /** @param ahead how many requests to count ahead. */
  ask: (ahead: number) => Promise<AdmitAnswer>;
  /** Whether the last word is not enough: the call needs a slot as well. */
  mustAsk?: boolean;
}

/** The requests of one account in one rate window. */
interface Counted {
  ahead: number;
  /** Left of the window when coordination was asked last. */
  remaining: number;
  endsMs: number;
}

export function createAdmissionCache({ elapsedMs }: Pick<Clock, 'elapsedMs'> = systemClock): AdmissionCache {
  const letIn = new WeakMap<Caller, { network: string; untilMs: number }>();
  const windows = new LRUCache<string, Counted>({ max: MOST_ACCOUNTS });
  /** Accounts that are just being counted ahead for: of calls that come together, one does so. */
  const counting = new Set<string>();

  function liveWindow(accountId: string, nowMs = elapsedMs()): Counted | undefined {
    const window = windows.get(accountId);
    return window !== undefined && nowMs < window.endsMs ? window : undefined;
  }

  function prepaidRequests(accountId: string): number {
    return liveWindow(accountId)?.ahead ?? 0;
  }

  function pass(caller: Caller, network: string): RateAnswer | null {
    const last = letIn.get(caller);
    const nowMs = elapsedMs();
    if (last === undefined || last.network !== network || nowMs >= last.untilMs) return null;
    const window = liveWindow(caller.accountId, nowMs);
    if (window === undefined || window.ahead === 0) return null;
    window.ahead -= 1;
    return { allowed: true, remaining: window.remaining, resetMs: window.endsMs - nowMs, ahead: 0 };
  }

  /** Times run from before the question: coordination gave its answer later, so nothing outlives what it said. */
  function note(caller: Caller, network: string, askedMs: number, rate: RateAnswer, isAhead: boolean): void {
    letIn.set(caller, { network, untilMs: askedMs + ADMISSION_TTL_MS });
    const { ahead, remaining, resetMs } = rate;
    if (isAhead) windows.set(caller.accountId, { ahead, remaining, endsMs: askedMs + resetMs });
    else {
      const window = liveWindow(caller.accountId);
      if (window !== undefined) window.remaining = remaining;
    }
  }

  return {
    pass,
    prepaidRequests,
    async admit(caller, network, { ask, mustAsk = false }) {
      const rate = mustAsk ? null : pass(caller, network);
      if (rate !== null) return { blockedMs: 0, marked: false, rate, slot: true };
      const { accountId } = caller;
      const isAhead = prepaidRequests(accountId) === 0 && !counting.has(accountId);
      if (isAhead) counting.add(accountId);
      try {
        const askedMs = elapsedMs();
        const answer = await ask(isAhead ? MOST_AHEAD : 0);
        if (answer.rate?.allowed) note(caller, network, askedMs, answer.rate, isAhead);
        return answer;
      } finally {
        if (isAhead) counting.delete(accountId);
      }
    },
  };
}
