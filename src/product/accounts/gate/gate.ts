import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { networkOf } from '../../../platform/http/connection/client-network.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { AdmitAnswer, Coordination, RateAnswer } from '../../../platform/stores/coordination/port.ts';
import { type Authentication, accountSuspended, type Caller } from '../authentication.ts';
import { invalidateCredentials } from '../revocations.ts';
import { createAdmissionCache } from './admission-cache.ts';
import { type RateBudget, sendBudget } from './budget.ts';
import { callerIfAny, setCaller } from './callers.ts';
import {
  blocked,
  consoleOnly,
  findRefusal,
  missingCredential,
  noSlotLeft,
  tooManyRequests,
} from './errors.ts';
import { createSlots, type SlotKind } from './slots.ts';

/** The most calls of an account that may wait for jobs at once. */
export const JOB_WAITS = 8;

/** The most downloads of many files that an account may have at once, and the most of them by links. */
export const DOWNLOADS = 2;
const LINK_DOWNLOADS = 1;

const WINDOW_MS = 60_000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Who may call; default `any`: a key or a console session. A credential sent to a public route must still be good.
     */
    access?: 'public' | 'any' | 'session';
    /** Whether a public route ignores a credential that the request carries. */
    ignoresCredential?: (request: FastifyRequest) => boolean;
    /** The kind of slot that the call takes; null for a call that takes none after all. */
    slot?: SlotKind | ((request: FastifyRequest) => SlotKind | null);
    /** Refuses a request by its path and query alone, before a slot is taken or the body is read. */
    check?: (request: FastifyRequest) => void;
  }
}

/** The settings that the gate reads. */
export interface GateSettings {
  REQUESTS_PER_MINUTE: number;
  FAILED_AUTHENTICATIONS_PER_MINUTE: number;
  SYNC_CALLS_PER_ACCOUNT: number;
}

interface GateOptions {
  coordination: Coordination;
  authentication: Authentication;
  /** Rate windows are counted per host, over all of its processes. */
  hostId: string;
  /** Distinguishes the slots that this process holds. */
  processId: string;
  settings: GateSettings;
  /** Epoch milliseconds. */
  now: () => number;
}

export interface Gate {
  /** Puts the gate before every route of `app` and of the plugins registered in it. */
  install(app: FastifyInstance): void;
  /** The caller of a route that is not public. */
  requireCaller(request: FastifyRequest): Caller;
  /** The caller, or null on a public route without a credential. */
  callerIfAny(request: FastifyRequest): Caller | null;
  /**
   * Takes a slot for a request whose account is known by its link alone, or that may take longer than the lease of a
   * slot. The slot is held until the connection is done with the request.
   * @throws ApiError 429 rate_limited when the account has none left.
   */
  takeSlot(request: FastifyRequest, reply: FastifyReply, kind: SlotKind, accountId: string): Promise<void>;
  /** Keeps the account's slot until `work` has ended, though the response may be sent earlier. */
  keepSlotUntil(request: FastifyRequest, work: Promise<unknown>): void;
  /**
   * Revokes a credential. When this resolves, it is refused wherever its flag is read (at least on this host);
   * elsewhere within 30 s.
   */
  revoke(credentialId: string): Promise<void>;
  /** Counts a credential as wrong before it is verified. @throws ApiError 429 when the window was full. */
  strikeFirst(request: FastifyRequest): Promise<Strike>;
}

/** A credential that is counted as wrong until it is known to be right. */
interface Strike {
  /** Uncounts the credential: it was right, or was not verified. */
  giveBack(): Promise<void>;
  /** Returns the error to throw: the credential was wrong. */
  failed(refusal: ApiError): ApiError;
}

/**
 * The gate of /api, which checks every request in this order: the failed-authentication window of the address, the
 * credential, the rate window, the route's own check, the slot. Windows and slot are asked in one round trip. A call
 * asks nothing while the cached answer about its caller is valid (see admission-cache.ts) and a slot, if it takes one,
 * has just been returned.
 */
export function createGate(options: GateOptions): Gate {
  const { coordination, authentication, settings, now } = options;
  /** The number of slots of an account, by kind. */
  const slotLimits: Readonly<Record<SlotKind, number>> = {
    calls: settings.SYNC_CALLS_PER_ACCOUNT,
    waits: JOB_WAITS,
    downloads: DOWNLOADS,
    linkDownloads: LINK_DOWNLOADS,
  };
  const slots = createSlots(coordination, `${options.hostId}/${options.processId}`);
  const admissionCache = createAdmissionCache();
  /** Addresses known to be blocked, so that a flood of wrong keys costs no look-up. Values are epoch milliseconds. */
  const blockedUntil = new LRUCache<string, number>({ max: 10_000 });

  /**
   * Admits a call without a question and synchronously, as most calls of a busy caller. Every other decision, each
   * refusal included, is left to `admit`.
   */
  function passesAtOnce(request: FastifyRequest, reply: FastifyReply, config: FastifyContextConfig): boolean {
    if (config.ignoresCredential || config.check || config.slot) return false;
    const caller = authentication.knownCallerOf(request);
    if (caller === null || caller.isSuspended || isWrongAccess(config, caller)) return false;
    const network = networkOf(request.ip);
    const rate = blockedMsOf(network) > 0 ? null : admissionCache.pass(caller, network);
    if (rate === null) return false;
    setCaller(request, caller);
    sendBudget(reply, budgetOf(caller, rate));
    return true;
  }

  async function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    config: FastifyContextConfig,
  ): Promise<void> {
    refuseBlocked(blockedMsOf(networkOf(request.ip)));
    let caller = await authenticate(request, config);
    const refusal = findRefusal(request, config);
    const kind = refusal === null && caller !== null ? kindOf(request, config) : null;
    let answer = await ask(request, reply, caller, { kind });
    if (answer.flagged) {
      // The credential or its account has changed.
      const credentialId = credentialIdOf(caller);
      if (credentialId) authentication.forget(credentialId);
      caller = await authenticate(request, config);
      answer = await ask(request, reply, caller, { kind, ignoresFlag: true });
    }
    if (caller !== null) setCaller(request, caller);
    if (caller !== null && answer.rate !== null) sendBudget(reply, budgetOf(caller, answer.rate));
    refuseBlocked(answer.blockedMs);
    if (answer.rate?.allowed === false) throw tooManyRequests(answer.rate);
    if (caller?.isSuspended) throw accountSuspended();
    if (caller === null && config.access !== 'public') throw missingCredential(request);
    if (isWrongAccess(config, caller)) throw consoleOnly();
    if (refusal !== null) throw refusal;
    if (!answer.slot) throw noSlotLeft(kind ?? 'calls', slotLimits[kind ?? 'calls']);
  }

  async function authenticate(request: FastifyRequest, config: FastifyContextConfig): Promise<Caller | null> {
    if (config.ignoresCredential?.(request)) return null;
    try {
      return await authentication.findCaller(request);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'unauthorized') throw await strike(request, error);
      throw error;
    }
  }

  /** Asks the windows and, for a call that is not refused, takes its slot, after further attempts when none is free. */
  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller | null,
    { kind, ignoresFlag = false }: { kind: SlotKind | null; ignoresFlag?: boolean },
  ): Promise<AdmitAnswer> {
    const network = networkOf(request.ip);
    const slot =
      kind === null || caller === null || caller.isSuspended
        ? null
        : slots.slotFor(`${kind}/${caller.accountId}`, slotLimits[kind]);
    const credentialId = credentialIdOf(caller);
    const askCoordination = (ahead: number) => {
      const terms = {
        blocked: { key: strikeKey(network), limit: settings.FAILED_AUTHENTICATIONS_PER_MINUTE },
        ...(credentialId && !ignoresFlag && { flag: credentialId }),
        rate: {
          key: `${options.hostId}/${caller?.accountId ?? network}`,
          limit: settings.REQUESTS_PER_MINUTE,
          windowMs: WINDOW_MS,
          ahead,
        },
      };
      return slots.admit(terms, slot);
    };
    const bypassesCache = slot !== null && !slots.isHeld(slot);
    const answer =
      caller === null || ignoresFlag
        ? await askCoordination(0)
        : await admissionCache.admit(caller, network, { load: askCoordination, bypassesCache });
    if (slot === null) return answer;
    if (answer.blockedMs > 0 || answer.flagged || !answer.rate?.allowed) {
      slots.giveBack(slot);
      return answer;
    }
    const taken = answer.slot || (await slots.retryTake(slot));
    if (taken) slots.hold(request, reply, slot);
    return { ...answer, slot: taken };
  }

  function strikeKey(network: string): string {
    return `${options.hostId}/${network}`;
  }

  /** The budget of a caller, which includes the requests that were counted ahead and not made yet. */
  function budgetOf({ accountId }: Caller, { allowed, remaining, resetMs }: RateAnswer): RateBudget {
    return {
      limit: settings.REQUESTS_PER_MINUTE,
      windowMs: WINDOW_MS,
      remaining: allowed ? remaining + admissionCache.prepaidRequests(accountId) : 0,
      resetMs,
    };
  }

  /**
   * Blocks the address in this process once its window is full, so that a flood of wrong credentials costs no look-up.
   */
  function noteFailure(
    request: FastifyRequest,
    { count, resetMs }: { count: number; resetMs: number },
  ): void {
    if (count < settings.FAILED_AUTHENTICATIONS_PER_MINUTE) return;
    blockedUntil.set(networkOf(request.ip), now() + resetMs);
  }

  /** How long the address is still blocked in milliseconds, as far as this process knows. */
  function blockedMsOf(network: string): number {
    if (blockedUntil.size === 0) return 0;
    return Math.max(0, (blockedUntil.get(network) ?? 0) - now());
  }

  function refuseBlocked(blockedMs: number): void {
    if (blockedMs > 0) throw blocked(blockedMs);
  }

  /** Counts a wrong credential; 429 instead of the given refusal once the window is full. */
  async function strike(request: FastifyRequest, refusal: ApiError): Promise<ApiError> {
    const counted = await coordination.strike(strikeKey(networkOf(request.ip)), WINDOW_MS);
    noteFailure(request, counted);
    return counted.count > settings.FAILED_AUTHENTICATIONS_PER_MINUTE ? blocked(counted.resetMs) : refusal;
  }

  return {
    install(app) {
      // This hook is asynchronous only when something has to be asked.
      app.addHook('onRequest', (request, reply, done) => {
        // Reading the options of a route copies them.
        const { config } = request.routeOptions;
        if (!passesAtOnce(request, reply, config)) return admit(request, reply, config);
        done();
      });
    },
    requireCaller(request) {
      const caller = callerIfAny(request);
      if (caller === null) throw missingCredential(request);
      return caller;
    },
    callerIfAny,
    async takeSlot(request, reply, kind, accountId) {
      const slot = slots.slotFor(`${kind}/${accountId}`, slotLimits[kind]);
      const isTaken =
        slots.isHeld(slot) || (await slots.admit({}, slot)).slot || (await slots.retryTake(slot));
      if (!isTaken) throw noSlotLeft(kind, slotLimits[kind]);
      slots.holdLong(request, reply, slot);
    },
    keepSlotUntil: slots.keepUntil,
    async revoke(credentialId) {
      authentication.forget(credentialId);
      await invalidateCredentials(coordination, [credentialId]);
    },
    async strikeFirst(request) {
      const key = strikeKey(networkOf(request.ip));
      const counted = await coordination.strike(key, WINDOW_MS);
      const giveBack = () => coordination.giveBackStrike(key);
      if (counted.count > settings.FAILED_AUTHENTICATIONS_PER_MINUTE) {
        await giveBack();
        throw blocked(counted.resetMs);
      }
      return {
        giveBack,
        failed(refusal) {
          noteFailure(request, counted);
          return refusal;
        },
      };
    },
  };
}

/** The key or the session that a caller proved; none without a caller. */
function credentialIdOf(caller: Caller | null): string | null | undefined {
  return caller?.apiKeyId ?? caller?.sessionId;
}

/** Whether a key is used where a session is required. */
function isWrongAccess({ access }: FastifyContextConfig, caller: Caller | null): boolean {
  return access === 'session' && caller?.sessionId === null;
}

/** The kind of slot that a call takes. */
function kindOf(request: FastifyRequest, { slot }: FastifyContextConfig): SlotKind | null {
  return typeof slot === 'function' ? slot(request) : (slot ?? null);
}
