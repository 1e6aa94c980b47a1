import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { clientNetworkOf } from '../../../platform/http/connection/client.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { AccountCalls } from '../../../platform/metrics/load.ts';
import type { ProcessParts } from '../../../platform/process-parts.ts';
import type { AdmissionAnswer, RateWindowAnswer } from '../../../platform/stores/coordination/port.ts';
import {
  type Authentication,
  accountSuspendedError,
  type Caller,
  callerOrNull,
  hasOnlyCookieCredential,
  setCaller,
} from '../authentication.ts';
import { invalidateCredentials } from '../revocations.ts';
import { AdmissionCache } from './admission-cache.ts';
import {
  addressBlockedError,
  findRouteCheckError,
  missingCredentialError,
  noSlotLeftError,
  sessionRequiredError,
  tooManyRequestsError,
} from './responses.ts';
import { type CallSlotKind, CallSlots } from './slots.ts';

/** The maximum number of calls of an account that may wait for jobs at once. */
export const MAX_WAITING_JOB_CALLS = 8;

/** The maximum number of concurrent multi-file downloads of an account. */
export const MAX_CONCURRENT_DOWNLOADS = 2;
/** The maximum number of concurrent multi-file downloads of an account by a signed link instead of a credential. */
const MAX_CONCURRENT_LINK_DOWNLOADS = 1;
/**
 * The maximum number of concurrent responses of an account with megabytes of JSON. A response counts until the client
 * has received it. Without a limit, slow clients would fill the memory.
 */
const MAX_CONCURRENT_LONG_READS = 4;
/** The sentence about this limit in the descriptions of endpoints. */
export const LONG_READS_TEXT = `An account receives at most ${MAX_CONCURRENT_LONG_READS} answers of megabytes at a time; more are refused with 429.`;

const RATE_WINDOW_MS = 60_000;
const MAX_COUNTED_ACCOUNTS = 100;
const LOAD_REFUSAL_STATUSES = [429, 503];

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Who may call the route. Default: `any`, with an API key or a console session. Even on a public route, a
     * credential that is sent must be valid. The exception is the cookie of an expired session, which is ignored there.
     */
    access?: 'public' | 'any' | 'session';
    ignoresCredential?: (request: FastifyRequest) => boolean;
    /** Whether the route also serves accounts that the operator has suspended. */
    servesSuspended?: true;
    /** The kind of slot that a call of the route takes; null for none. */
    slot?: CallSlotKind | ((request: FastifyRequest) => CallSlotKind | null);
    /** Refuses a request because of its path or query. It runs before a slot is taken and the body is read. */
    check?: (request: FastifyRequest) => void;
  }
}

export interface GateSettings {
  REQUESTS_PER_MINUTE: number;
  FAILED_AUTHENTICATIONS_PER_MINUTE: number;
  SYNC_CALLS_PER_ACCOUNT: number;
}

/**
 * Rate windows are counted per host (`hostId`), over all of its processes. Slots are held per process (`processId`).
 */
interface GateOptions extends Pick<ProcessParts, 'coordination' | 'hostId' | 'processId'> {
  authentication: Authentication;
  settings: GateSettings;
  /** Epoch milliseconds. */
  now: () => number;
}

/** A credential that is counted as wrong in advance, while it is being verified. */
interface CountedFailure {
  /** Removes the credential from the count, because it was right, or because the check itself failed. */
  giveBack(): Promise<void>;
  /** Keeps the credential in the count, because it was wrong. Returns the error to throw. */
  confirm(refusal: ApiError): ApiError;
}

/**
 * The gate of /api. It checks every request in this order: the failed authentications of the network, the credential,
 * the rate window, the route's own check, the slot. One round trip to the coordination store covers both the windows
 * and the slot. A call needs no round trip if the cached answer about its caller is valid (see admission-cache.ts), and
 * if the call takes no slot, or a slot that was just returned.
 */
export class CallGate {
  readonly #options: GateOptions;
  readonly #slotLimits: Readonly<Record<CallSlotKind, number>>;
  readonly #slots: CallSlots;
  readonly #admissionCache = new AdmissionCache();
  /**
   * The networks that are known to be blocked, with the end of each block in epoch milliseconds. A flood of wrong keys
   * from such a network costs no look-up.
   */
  readonly #blockedUntil = new LRUCache<string, number>({ max: 10_000 });
  /** The calls of the accounts that called last. */
  readonly #accountCalls = new LRUCache<string, AccountCalls>({ max: MAX_COUNTED_ACCOUNTS });

  constructor(options: GateOptions) {
    this.#options = options;
    this.#slotLimits = {
      calls: options.settings.SYNC_CALLS_PER_ACCOUNT,
      waits: MAX_WAITING_JOB_CALLS,
      downloads: MAX_CONCURRENT_DOWNLOADS,
      linkDownloads: MAX_CONCURRENT_LINK_DOWNLOADS,
      longReads: MAX_CONCURRENT_LONG_READS,
    };
    this.#slots = new CallSlots(options.coordination, `${options.hostId}/${options.processId}`);
  }

  /** Makes the gate check every request to the routes of `app` and of its plugins. */
  install(app: FastifyInstance): void {
    // The hook calls `done` synchronously when the coordination store need not be queried.
    app.addHook('onRequest', (request, reply, done) => {
      // The options of a route are read once, because Fastify copies them at each access.
      const { config } = request.routeOptions;
      if (!this.#admitFromCache(request, reply, config)) return this.#admit(request, reply, config);
      done();
    });
    app.addHook('onError', (request, _reply, error, done) => {
      // The response to this error is held back for a while. The slot is returned now, so that the account can make
      // other calls in the meantime.
      if (error instanceof ApiError && error.holdMs !== undefined) this.#slots.end(request);
      done();
    });
    app.addHook('onResponse', (request, reply, done) => {
      const caller = callerOrNull(request);
      if (caller !== null) this.#countCall(caller.accountId, reply.statusCode);
      done();
    });
  }

  /** For the operator: the calls since the start of this process, of the accounts that called last. */
  accountCalls(): Record<string, AccountCalls> {
    return Object.fromEntries([...this.#accountCalls].map(([id, counted]) => [id, { ...counted }]));
  }

  requireCaller(request: FastifyRequest): Caller {
    const caller = callerOrNull(request);
    if (caller === null) throw missingCredentialError(request);
    return caller;
  }

  /**
   * Takes a slot for a request whose account is known only from its signed link, or that may take longer than the lease
   * of a slot. The slot is held until the connection has finished the request.
   * @throws ApiError 429 rate_limited when the account has no slot left.
   */
  async takeSlot(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: CallSlotKind,
    accountId: string,
  ): Promise<void> {
    const slot = this.#slots.reuseOrCreateSlot(`${kind}/${accountId}`, this.#slotLimits[kind]);
    const isTaken =
      this.#slots.isReusable(slot) ||
      (await this.#slots.admit({}, slot)).slot ||
      (await this.#slots.retryTake(slot));
    if (!isTaken) throw noSlotLeftError(kind, this.#slotLimits[kind]);
    this.#slots.holdLong(request, reply, slot);
  }

  /** Keeps the account's slot until `work` has ended, even if the response is sent earlier. */
  keepSlotUntil(request: FastifyRequest, work: Promise<unknown>): void {
    this.#slots.keepUntil(request, work);
  }

  /**
   * Revokes a credential. When the promise resolves, the credential is refused at least on this host. All other hosts
   * refuse it within 30 s.
   */
  async revoke(credentialId: string): Promise<void> {
    this.#options.authentication.forget(credentialId);
    await invalidateCredentials(this.#options.coordination, [credentialId]);
  }

  /**
   * Counts a credential as wrong before it is verified, so that concurrent guesses cannot exceed the limit.
   * @throws ApiError 429 when the network has already sent too many wrong credentials.
   */
  async precountFailure(request: FastifyRequest): Promise<CountedFailure> {
    const network = clientNetworkOf(request.ip);
    const key = this.#failureWindowKey(network);
    const counted = await this.#options.coordination.addStrike(key, RATE_WINDOW_MS);
    const giveBack = () => this.#options.coordination.withdrawStrike(key);
    if (counted.count > this.#options.settings.FAILED_AUTHENTICATIONS_PER_MINUTE) {
      await giveBack();
      throw addressBlockedError(counted.resetMs);
    }
    return {
      giveBack,
      confirm: (refusal) => {
        this.#blockNetworkIfFull(network, counted);
        return refusal;
      },
    };
  }

  /** Whether this process knows that the client's network has sent too many wrong credentials. */
  isBlocked(request: FastifyRequest): boolean {
    return this.#remainingBlockMs(clientNetworkOf(request.ip)) > 0;
  }

  /**
   * Counts a wrong credential. Routes that check a credential of their own, such as the signature in a URL, call it.
   * @returns the error to throw: `refusal`, or 429 after too many wrong credentials from the network.
   */
  async countFailure(request: FastifyRequest, refusal: ApiError): Promise<ApiError> {
    const network = clientNetworkOf(request.ip);
    const blockedMs = this.#remainingBlockMs(network);
    if (blockedMs > 0) return addressBlockedError(blockedMs);
    const counted = await this.#options.coordination.addStrike(
      this.#failureWindowKey(network),
      RATE_WINDOW_MS,
    );
    this.#blockNetworkIfFull(network, counted);
    const { FAILED_AUTHENTICATIONS_PER_MINUTE: limit } = this.#options.settings;
    return counted.count > limit ? addressBlockedError(counted.resetMs) : refusal;
  }

  /**
   * Admits a call synchronously from cached answers, which is possible for most calls of a busy caller. Every other
   * decision, including each refusal, is left to `#admit`.
   */
  #admitFromCache(request: FastifyRequest, reply: FastifyReply, config: FastifyContextConfig): boolean {
    if (config.ignoresCredential || config.check || config.slot) return false;
    const caller = this.#options.authentication.cachedCallerOf(request);
    if (caller === null || caller.isSuspended || lacksRequiredSession(config, caller)) return false;
    const network = clientNetworkOf(request.ip);
    const rate =
      this.#remainingBlockMs(network) > 0 ? null : this.#admissionCache.admitFromCache(caller, network);
    if (rate === null) return false;
    setCaller(request, caller);
    this.#sendRateLimits(reply, caller, rate);
    return true;
  }

  async #admit(request: FastifyRequest, reply: FastifyReply, config: FastifyContextConfig): Promise<void> {
    refuseBlocked(this.#remainingBlockMs(clientNetworkOf(request.ip)));
    let caller = await this.#authenticate(request, config);
    const refusal = findRouteCheckError(request, config);
    const kind = refusal === null && caller !== null ? slotKindOf(request, config) : null;
    let answer = await this.#requestAdmission(request, reply, caller, { kind });
    if (answer.flagged) {
      // The credential is looked up again, because it or its account has changed.
      const credentialId = credentialIdOf(caller);
      if (credentialId) this.#options.authentication.forget(credentialId);
      caller = await this.#authenticate(request, config);
      answer = await this.#requestAdmission(request, reply, caller, { kind, ignoresFlag: true });
    }
    if (caller !== null) setCaller(request, caller);
    if (caller !== null && answer.rate !== null) this.#sendRateLimits(reply, caller, answer.rate);
    refuseBlocked(answer.blockedMs);
    if (answer.rate?.allowed === false) throw tooManyRequestsError(answer.rate);
    if (caller?.isSuspended && !config.servesSuspended) throw accountSuspendedError();
    if (caller === null && config.access !== 'public') throw missingCredentialError(request);
    if (lacksRequiredSession(config, caller)) throw sessionRequiredError();
    if (refusal !== null) throw refusal;
    if (!answer.slot) throw noSlotLeftError(kind ?? 'calls', this.#slotLimits[kind ?? 'calls']);
  }

  async #authenticate(request: FastifyRequest, config: FastifyContextConfig): Promise<Caller | null> {
    if (config.ignoresCredential?.(request)) return null;
    try {
      return await this.#options.authentication.findCaller(request);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'unauthorized') throw error;
      // An invalid cookie is ignored, because a browser also sends the cookie of an expired session.
      const { access, ignoresCredential } = config;
      const isOpenToAll = access === 'public' && ignoresCredential === undefined;
      if (isOpenToAll && hasOnlyCookieCredential(request)) return null;
      throw await this.countFailure(request, error);
    }
  }

  /**
   * Queries the coordination store for the rate windows and the slot. If no slot is free, the query is repeated a few
   * times.
   */
  async #requestAdmission(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller | null,
    { kind, ignoresFlag = false }: { kind: CallSlotKind | null; ignoresFlag?: boolean },
  ): Promise<AdmissionAnswer> {
    const network = clientNetworkOf(request.ip);
    const slot =
      kind === null || caller === null || caller.isSuspended
        ? null
        : this.#slots.reuseOrCreateSlot(`${kind}/${caller.accountId}`, this.#slotLimits[kind]);
    const credentialId = credentialIdOf(caller);
    const askCoordination = (ahead: number) => {
      const terms = {
        blocked: {
          key: this.#failureWindowKey(network),
          limit: this.#options.settings.FAILED_AUTHENTICATIONS_PER_MINUTE,
        },
        ...(credentialId && !ignoresFlag && { flag: credentialId }),
        rate: {
          key: `${this.#options.hostId}/${caller?.accountId ?? network}`,
          limit: this.#options.settings.REQUESTS_PER_MINUTE,
          windowMs: RATE_WINDOW_MS,
          ahead,
        },
      };
      return this.#slots.admit(terms, slot);
    };
    const bypassesCache = slot !== null && !this.#slots.isReusable(slot);
    const answer =
      caller === null || ignoresFlag
        ? await askCoordination(0)
        : await this.#admissionCache.admit(caller, network, { load: askCoordination, bypassesCache });
    if (slot === null) return answer;
    if (answer.blockedMs > 0 || answer.flagged || !answer.rate?.allowed) {
      this.#slots.giveBack(slot);
      return answer;
    }
    const hasSlot = answer.slot || (await this.#slots.retryTake(slot));
    if (hasSlot) this.#slots.hold(request, reply, slot);
    return { ...answer, slot: hasSlot };
  }

  #countCall(accountId: string, status: number): void {
    const counted = this.#accountCalls.get(accountId) ?? { calls: 0, refused: 0 };
    counted.calls += 1;
    if (LOAD_REFUSAL_STATUSES.includes(status)) counted.refused += 1;
    if (counted.calls === 1) this.#accountCalls.set(accountId, counted);
  }

  #failureWindowKey(network: string): string {
    return `${this.#options.hostId}/${network}`;
  }

  /**
   * Sets the rate-limit headers of a response: the three of this API, and the two of the draft standard. Requests that
   * were counted in advance, but are not received yet, count as remaining.
   * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
   */
  #sendRateLimits(reply: FastifyReply, { accountId }: Caller, rate: RateWindowAnswer): void {
    const prepaid = this.#admissionCache.prepaidRequests(accountId);
    const remaining = rate.allowed ? rate.remaining + prepaid : 0;
    const limit = this.#options.settings.REQUESTS_PER_MINUTE;
    const resetSeconds = Math.ceil(rate.resetMs / 1000);
    reply.header('ratelimit-limit', String(limit));
    reply.header('ratelimit-remaining', String(remaining));
    reply.header('ratelimit-reset', String(resetSeconds));
    reply.header('ratelimit-policy', `"requests";q=${limit};w=${RATE_WINDOW_MS / 1000}`);
    reply.header('ratelimit', `"requests";r=${remaining};t=${resetSeconds}`);
  }

  /**
   * Blocks the network in this process once it has sent the maximum number of wrong credentials, so that a flood of
   * them costs no look-up.
   */
  #blockNetworkIfFull(network: string, { count, resetMs }: { count: number; resetMs: number }): void {
    if (count < this.#options.settings.FAILED_AUTHENTICATIONS_PER_MINUTE) return;
    this.#blockedUntil.set(network, this.#options.now() + resetMs);
  }

  /** The milliseconds for which the network is still blocked, as far as this process knows. */
  #remainingBlockMs(network: string): number {
    if (this.#blockedUntil.size === 0) return 0;
    return Math.max(0, (this.#blockedUntil.get(network) ?? 0) - this.#options.now());
  }
}

function refuseBlocked(blockedMs: number): void {
  if (blockedMs > 0) throw addressBlockedError(blockedMs);
}

function credentialIdOf(caller: Caller | null): string | null | undefined {
  return caller?.apiKeyId ?? caller?.sessionId;
}

/** Whether a route requires a session and the caller used an API key. */
function lacksRequiredSession({ access }: FastifyContextConfig, caller: Caller | null): boolean {
  return access === 'session' && caller?.sessionId === null;
}

export function slotKindOf(request: FastifyRequest, { slot }: FastifyContextConfig): CallSlotKind | null {
  return typeof slot === 'function' ? slot(request) : (slot ?? null);
}
