import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { ApiError, type ApiErrorContext } from '../../platform/http/errors/errors.ts';
import { API_KEY_CHARACTERS, hashSecret, looksLikeApiKey } from './accounts.ts';
import { CREDENTIAL_CACHE_MS } from './revocations.ts';
import type { SessionCookie } from './sign-in/cookie.ts';
import type { AccountsStore, ApiKeyDocument } from './store.ts';

/** The caller of a request: an account, authenticated by one of its API keys or by a console session. */
export interface Caller {
  accountId: string;
  plan: string;
  apiKeyId: string | null;
  sessionId: string | null;
  /** Whether the operator has suspended the account, so that the gate refuses its calls. */
  isSuspended?: boolean;
}

const MAX_CACHED_CREDENTIALS = 10_000;
const LAST_USED_RESOLUTION_MS = 60_000;
const SCHEME = /^(apikey|bearer) +(\S+)$/i;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether an API key may be sent as a bearer token. Clients of the route's protocol can send no other form. */
    takesBearerKey?: true;
  }
}

/** The parsed content of an Authorization header. */
interface Credential {
  header: string;
  isSession: boolean;
  /** Whether the credential is an API key that was sent as a bearer token. */
  isBearerKey: boolean;
  /** Empty when the header has none. */
  secret: string;
  /** The hash of the secret, see hashSecret. */
  hash: string;
}

interface Cached {
  caller: Caller;
  /** When the credential expires, in epoch milliseconds. A session expires; a key does not. */
  expiresAtMs: number;
}

/**
 * Looks credentials up by their SHA-256, so that secrets are never compared as text, and caches the results for at most
 * 30 s.
 */
export class Authentication {
  readonly #store: AccountsStore;
  readonly #cookie: SessionCookie;
  readonly #now: () => number;
  readonly #keys: LRUCache<string, Cached>;
  readonly #sessions: LRUCache<string, Cached>;
  /**
   * The last credential of each connection. Its next call usually sends the same one, which is then not hashed again.
   * It is compared only with a credential of the same connection, so timing reveals nothing about another's secret.
   */
  readonly #lastSent = new WeakMap<object, Credential>();

  constructor(store: AccountsStore, cookie: SessionCookie, now: () => number) {
    this.#store = store;
    this.#cookie = cookie;
    this.#now = now;
    this.#keys = cacheOfCallers(now);
    this.#sessions = cacheOfCallers(now);
  }

  /**
   * The caller that the Authorization header identifies, or else the cookie of a console session. Null without either.
   * @throws ApiError 401 unauthorized for a credential that is not accepted; 403 forbidden for a write by cookie that
   *   another page may have made.
   */
  async findCaller(request: FastifyRequest): Promise<Caller | null> {
    const header = this.#headerOf(request);
    if (header === undefined) return null;
    if (hasOnlyCookieCredential(request)) this.#cookie.requireOwnPage(request);
    const credential = this.#credentialOf(request, header);
    const { isSession, secret, hash } = credential;
    if (secret === '') throw looksLikeApiKey(header.trim()) ? keyWithoutScheme() : otherScheme(header.trim());
    if (isRefusedBearerKey(credential, request)) throw keyAsBearer();
    let found: Cached | null | undefined = this.#cached(credential);
    if (found === undefined) {
      found = await (isSession ? this.#sessionCaller(hash) : this.#keyCaller(hash));
      if (found !== null) (isSession ? this.#sessions : this.#keys).set(hash, found);
    }
    if (found === null && looksLikeApiKey(secret) && secret.length !== API_KEY_CHARACTERS)
      throw wrongLength(secret.length);
    if (found === null || found.expiresAtMs <= this.#now()) throw notAccepted(isSession);
    return found.caller;
  }

  /** The caller in the cache of this process; null when it is not cached, or the request has no valid credential. */
  knownCallerOf(request: FastifyRequest): Caller | null {
    const header = request.headers.authorization;
    // A cookie is accepted under further conditions only.
    if (header === undefined) return null;
    const credential = this.#credentialOf(request, header);
    const found = isRefusedBearerKey(credential, request) ? undefined : this.#cached(credential);
    return found !== undefined && found.expiresAtMs > this.#now() ? found.caller : null;
  }

  /** Removes a credential from the cache of this process, because it was revoked or its account changed. */
  forget(credentialId: string): void {
    for (const cache of [this.#keys, this.#sessions]) {
      for (const [hash, { caller }] of cache.entries()) {
        if (caller.apiKeyId === credentialId || caller.sessionId === credentialId) cache.delete(hash);
      }
    }
  }

  /** The credential as an Authorization header has it. */
  #headerOf(request: FastifyRequest): string | undefined {
    if (!hasOnlyCookieCredential(request)) return request.headers.authorization;
    const token = this.#cookie.tokenOf(request);
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  #credentialOf(request: FastifyRequest, header: string): Credential {
    const last = this.#lastSent.get(request.socket);
    if (last?.header === header) return last;
    const [, scheme = '', secret = ''] = SCHEME.exec(header.trim()) ?? [];
    const isBearer = scheme.toLowerCase() === 'bearer';
    const isBearerKey = isBearer && looksLikeApiKey(secret);
    const hash = secret === '' ? '' : hashSecret(secret);
    const credential = { header, isSession: isBearer && !isBearerKey, isBearerKey, secret, hash };
    if (request.socket) this.#lastSent.set(request.socket, credential);
    return credential;
  }

  #cached({ isSession, hash }: Credential): Cached | undefined {
    return (isSession ? this.#sessions : this.#keys).get(hash);
  }

  async #keyCaller(hash: string): Promise<Cached | null> {
    const key = await this.#store.findKeyByHash(hash);
    if (key === null || key.revokedAt !== null) return null;
    this.#noteUse(key);
    const standing = await this.#store.findStanding(key.accountId);
    if (standing === null) return null;
    const caller = { accountId: key.accountId, apiKeyId: key._id, sessionId: null, ...standing };
    return { caller, expiresAtMs: Number.POSITIVE_INFINITY };
  }

  async #sessionCaller(hash: string): Promise<Cached | null> {
    const session = await this.#store.findSessionByHash(hash);
    if (session === null) return null;
    const standing = await this.#store.findStanding(session.accountId);
    if (standing === null) return null;
    const caller = { accountId: session.accountId, apiKeyId: null, sessionId: session._id, ...standing };
    return { caller, expiresAtMs: Date.parse(session.expiresAt) };
  }

  /** Records the use of a key, at most once per minute. Losing a record does no harm. */
  #noteUse(key: ApiKeyDocument): void {
    if (key.lastUsedAt !== null && this.#now() - Date.parse(key.lastUsedAt) < LAST_USED_RESOLUTION_MS) return;
    this.#store.noteKeyUse(key, new Date(this.#now())).catch(() => undefined);
  }
}

/** Whether the request has no credential except a possible cookie. */
export function hasOnlyCookieCredential({ headers }: FastifyRequest): boolean {
  return headers.authorization === undefined && headers.cookie !== undefined;
}

/**
 * Whether an API key was sent as a bearer token to a route that does not accept one. The route's options are read for
 * such a key only, because Fastify copies them at each access.
 */
function isRefusedBearerKey({ isBearerKey }: Credential, request: FastifyRequest): boolean {
  return isBearerKey && request.routeOptions.config.takesBearerKey !== true;
}

/** The cache of callers, by the hash of their credential. */
function cacheOfCallers(now: () => number): LRUCache<string, Cached> {
  return new LRUCache({
    max: MAX_CACHED_CREDENTIALS,
    ttl: CREDENTIAL_CACHE_MS,
    perf: { now },
    // Otherwise the cache would start a timer per millisecond to save readings of the clock.
    ttlResolution: 0,
  });
}

/** The value of the header for a program. */
export const API_KEY_SCHEME_HINT = { details: { suggest: ['ApiKey <API_KEY>'] } };

/** The error 401: the Authorization header is missing, or its credential is not accepted. */
export function unauthorizedError(
  message: string,
  context: Pick<ApiErrorContext, 'details' | 'headers'> = {},
): ApiError {
  return new ApiError('unauthorized', message, { param: 'Authorization', ...context });
}

/**
 * The error 401 for an API key that was sent as a bearer token. Neither the identity nor the validity of the key is
 * checked.
 */
function keyAsBearer(): ApiError {
  return unauthorizedError(
    'An API key was sent as Bearer: send "Authorization: ApiKey …".',
    API_KEY_SCHEME_HINT,
  );
}

function keyWithoutScheme(): ApiError {
  return unauthorizedError(
    'The Authorization header holds an API key alone: write ApiKey before it, as in "Authorization: ApiKey drk_…".',
    API_KEY_SCHEME_HINT,
  );
}

/** The error for another scheme, such as Basic. It repeats nothing that follows the scheme. */
function otherScheme(header: string): ApiError {
  const [, scheme] = /^([a-z-]{1,20})(?: |$)/i.exec(header) ?? [];
  const found =
    scheme === undefined || /^(apikey|bearer)$/i.test(scheme)
      ? 'The Authorization header holds no credential that can be read'
      : `Credentials of the scheme ${scheme} are not supported`;
  return unauthorizedError(`${found}: send "Authorization: ApiKey <API_KEY>".`, API_KEY_SCHEME_HINT);
}

/**
 * The error for a key of wrong length, with the number of characters that are missing. Every key has the same length,
 * so this reveals nothing.
 */
function wrongLength(received: number): ApiError {
  return unauthorizedError(
    `An API key has ${API_KEY_CHARACTERS} characters and this one has ${received}: copy it whole.`,
    { details: { received, expected: API_KEY_CHARACTERS } },
  );
}

/**
 * The error 401 for a credential that is wrong, revoked or malformed. It is equal for all of these, so that it reveals
 * nothing.
 */
function notAccepted(isSession: boolean): ApiError {
  return unauthorizedError(
    isSession
      ? 'This session is not accepted or is over: sign in again at POST /api/v1/auth/sign-in.'
      : 'This credential is not accepted: send "Authorization: ApiKey <API_KEY>" with a key that was not revoked.',
  );
}

/** The error 403: the credential is valid, but the operator suspended its account. */
export function accountSuspendedError(): ApiError {
  return new ApiError('forbidden', 'This account is suspended: ask the operator of this service.', {
    details: { reason: 'account_suspended' },
  });
}

/**
 * The property of a request that holds its caller. A weak map would cost the garbage collector an entry per request.
 */
const CALLER = Symbol('caller');
type RequestWithCaller = FastifyRequest & { [CALLER]?: Caller };

/** Sets the caller of a request. */
export function setCaller(request: RequestWithCaller, caller: Caller): void {
  request[CALLER] = caller;
}

/** The caller of a request; null before the gate has authenticated it, and for an anonymous request. */
export function callerOrNull(request: RequestWithCaller): Caller | null {
  return request[CALLER] ?? null;
}
