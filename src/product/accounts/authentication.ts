import type { FastifyRequest } from 'fastify';
import type { LRUCache } from 'lru-cache';
import { headerCorrections } from '../../platform/http/errors/corrections.ts';
import { ApiError, type ApiErrorContext } from '../../platform/http/errors/errors.ts';
import { createExpiringCache } from '../../platform/values/expiring-cache.ts';
import { API_KEY_CHARACTERS, hashSecret, looksLikeApiKey } from './accounts.ts';
import { CREDENTIAL_CACHE_TTL_MS } from './revocations.ts';
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
const MIN_USE_RECORD_INTERVAL_MS = 60_000;
const AUTHORIZATION_PATTERN = /^(apikey|bearer) +(\S+)$/i;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the route accepts an API key as a bearer token. Some protocols have clients that can send no other
     * scheme.
     */
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
  /** The hash of the secret, as hashSecret makes it. */
  hash: string;
}

interface CachedCaller {
  caller: Caller;
  /** When the session expires, in epoch milliseconds; Infinity for a key, which never expires. */
  expiresAtMs: number;
}

/**
 * Finds the callers of requests by their credentials. Credentials are looked up by their SHA-256, so that secrets are
 * never compared as text. The results are cached for at most 30 s.
 */
export class Authentication {
  readonly #store: AccountsStore;
  readonly #cookie: SessionCookie;
  readonly #now: () => number;
  /** The callers by the hashes of their credentials. */
  readonly #keyCallers: LRUCache<string, CachedCaller>;
  readonly #sessionCallers: LRUCache<string, CachedCaller>;
  /**
   * The last credential of each connection. The next call of a connection usually sends the same credential, which is
   * then not hashed again. Credentials of different connections are never compared, so that timing reveals nothing
   * about the secrets of others.
   */
  readonly #lastCredentials = new WeakMap<object, Credential>();

  constructor(store: AccountsStore, cookie: SessionCookie, now: () => number) {
    this.#store = store;
    this.#cookie = cookie;
    this.#now = now;
    this.#keyCallers = createExpiringCache(MAX_CACHED_CREDENTIALS, CREDENTIAL_CACHE_TTL_MS, now);
    this.#sessionCallers = createExpiringCache(MAX_CACHED_CREDENTIALS, CREDENTIAL_CACHE_TTL_MS, now);
  }

  /**
   * The caller of a request, from its Authorization header, or else from the cookie of a console session. Null without
   * either.
   * @throws ApiError 401 unauthorized for a credential that is not accepted; 403 forbidden for a write by cookie that
   * another page may have made.
   */
  async findCaller(request: FastifyRequest): Promise<Caller | null> {
    const header = this.#authorizationOf(request);
    if (header === undefined) return null;
    if (hasOnlyCookieCredential(request)) this.#cookie.requireSameOrigin(request);
    const credential = this.#credentialOf(request, header);
    const { isSession, secret } = credential;
    if (secret === '')
      throw looksLikeApiKey(header.trim()) ? keyWithoutSchemeError() : unknownSchemeError(header.trim());
    if (isRefusedBearerKey(credential, request)) throw keyAsBearerError();
    const found = this.#cacheOf(credential).get(credential.hash) ?? (await this.#lookUpCaller(credential));
    if (found === null && looksLikeApiKey(secret) && secret.length !== API_KEY_CHARACTERS)
      throw keyLengthError(secret.length);
    if (found === null || found.expiresAtMs <= this.#now()) throw credentialNotAcceptedError(isSession);
    return found.caller;
  }

  /** The caller in the cache of this process; null when it is not cached, or the request has no valid credential. */
  cachedCallerOf(request: FastifyRequest): Caller | null {
    const header = request.headers.authorization;
    // Without a header, the request may have a cookie. Only `findCaller` accepts it, because it also checks which page
    // sent the request.
    if (header === undefined) return null;
    const credential = this.#credentialOf(request, header);
    if (isRefusedBearerKey(credential, request)) return null;
    const found = this.#cacheOf(credential).get(credential.hash);
    return found !== undefined && found.expiresAtMs > this.#now() ? found.caller : null;
  }

  /** Removes a credential from the cache of this process, because it was revoked or its account changed. */
  forget(credentialId: string): void {
    for (const cache of [this.#keyCallers, this.#sessionCallers]) {
      for (const [hash, { caller }] of cache.entries()) {
        if (caller.apiKeyId === credentialId || caller.sessionId === credentialId) cache.delete(hash);
      }
    }
  }

  /**
   * The Authorization header of a request. For a request with only the cookie of a console session, a header with the
   * token of the cookie.
   */
  #authorizationOf(request: FastifyRequest): string | undefined {
    if (!hasOnlyCookieCredential(request)) return request.headers.authorization;
    const token = this.#cookie.tokenOf(request);
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  #credentialOf(request: FastifyRequest, header: string): Credential {
    const last = this.#lastCredentials.get(request.socket);
    if (last?.header === header) return last;
    const [, scheme = '', secret = ''] = AUTHORIZATION_PATTERN.exec(header.trim()) ?? [];
    const isBearer = scheme.toLowerCase() === 'bearer';
    const isBearerKey = isBearer && looksLikeApiKey(secret);
    const hash = secret === '' ? '' : hashSecret(secret);
    const credential = { header, isSession: isBearer && !isBearerKey, isBearerKey, secret, hash };
    if (request.socket) this.#lastCredentials.set(request.socket, credential);
    return credential;
  }

  #cacheOf({ isSession }: Credential): LRUCache<string, CachedCaller> {
    return isSession ? this.#sessionCallers : this.#keyCallers;
  }

  /** Looks up a credential in the store, and caches its caller; null when it is not accepted. */
  async #lookUpCaller(credential: Credential): Promise<CachedCaller | null> {
    const { isSession, hash } = credential;
    const found = await (isSession ? this.#findSession(hash) : this.#findKey(hash));
    const status = found && (await this.#store.findAccountStatus(found.accountId));
    if (found === null || status === null) return null;
    const { expiresAtMs, ...identity } = found;
    const entry = { caller: { ...identity, ...status }, expiresAtMs };
    this.#cacheOf(credential).set(hash, entry);
    return entry;
  }

  async #findKey(hash: string) {
    const key = await this.#store.findKeyByHash(hash);
    if (key === null || key.revokedAt !== null) return null;
    this.#recordUse(key);
    const { accountId, _id: apiKeyId } = key;
    return { accountId, apiKeyId, sessionId: null, expiresAtMs: Number.POSITIVE_INFINITY };
  }

  async #findSession(hash: string) {
    const session = await this.#store.findSessionByHash(hash);
    if (session === null) return null;
    const { accountId, _id: sessionId } = session;
    return { accountId, apiKeyId: null, sessionId, expiresAtMs: Date.parse(session.expiresAt) };
  }

  /** Records the use of a key, at most once per minute. Losing a record does no harm. */
  #recordUse(key: ApiKeyDocument): void {
    if (key.lastUsedAt !== null && this.#now() - Date.parse(key.lastUsedAt) < MIN_USE_RECORD_INTERVAL_MS)
      return;
    this.#store.recordKeyUse(key, new Date(this.#now())).catch(() => undefined);
  }
}

export function hasOnlyCookieCredential({ headers }: FastifyRequest): boolean {
  return headers.authorization === undefined && headers.cookie !== undefined;
}

/**
 * Whether an API key was sent as a bearer token to a route that does not accept one. The options of the route are read
 * last, because Fastify copies them at each access.
 */
function isRefusedBearerKey({ isBearerKey }: Credential, request: FastifyRequest): boolean {
  return isBearerKey && request.routeOptions.config.takesBearerKey !== true;
}

/** The right form of the Authorization header, as errors show it. Errors never contain the key itself. */
const AUTHORIZATION_EXAMPLE = 'ApiKey <API_KEY>';

/** The right form of the Authorization header, for programs. */
export const API_KEY_SCHEME_HINT = {
  details: { suggest: [AUTHORIZATION_EXAMPLE] },
  corrections: headerCorrections('Authorization', AUTHORIZATION_EXAMPLE),
};

/** The error 401: the Authorization header is missing, or its credential is not accepted. */
export function unauthorizedError(
  message: string,
  context: Pick<ApiErrorContext, 'details' | 'headers' | 'corrections'> = {},
): ApiError {
  return new ApiError('unauthorized', message, { param: 'Authorization', ...context });
}

/** The error 401 for an API key that was sent as a bearer token. The key itself is not looked up. */
function keyAsBearerError(): ApiError {
  const message = 'An API key was sent as Bearer: send "Authorization: ApiKey …".';
  return unauthorizedError(message, API_KEY_SCHEME_HINT);
}

function keyWithoutSchemeError(): ApiError {
  return unauthorizedError(
    'The Authorization header holds an API key alone: write ApiKey before it, as in "Authorization: ApiKey drk_…".',
    API_KEY_SCHEME_HINT,
  );
}

/**
 * The error for an unknown scheme, such as Basic. The message contains only the scheme, because a secret may follow it.
 */
function unknownSchemeError(header: string): ApiError {
  const [, scheme] = /^([a-z-]{1,20})(?: |$)/i.exec(header) ?? [];
  const found =
    scheme === undefined || /^(apikey|bearer)$/i.test(scheme)
      ? 'The Authorization header holds no credential that can be read'
      : `Credentials of the scheme ${scheme} are not supported`;
  return unauthorizedError(`${found}: send "Authorization: ApiKey <API_KEY>".`, API_KEY_SCHEME_HINT);
}

/**
 * The error for a key of wrong length. All keys have the same length, so the number of missing characters reveals
 * nothing.
 */
function keyLengthError(received: number): ApiError {
  const message = `An API key has ${API_KEY_CHARACTERS} characters and this one has ${received}: copy it whole.`;
  return unauthorizedError(message, { details: { received, expected: API_KEY_CHARACTERS } });
}

/**
 * The error 401 for a credential that is wrong, revoked or malformed. All three cases look the same, so that the error
 * reveals nothing.
 */
function credentialNotAcceptedError(isSession: boolean): ApiError {
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
 * The property of a request that holds its caller. A weak map would burden the garbage collector with an entry per
 * request.
 */
const CALLER_PROPERTY = Symbol('caller');
type RequestWithCaller = FastifyRequest & { [CALLER_PROPERTY]?: Caller };

export function setCaller(request: RequestWithCaller, caller: Caller): void {
  request[CALLER_PROPERTY] = caller;
}

/** The caller of a request; null before the gate has authenticated it, and for an anonymous request. */
export function callerOrNull(request: RequestWithCaller): Caller | null {
  return request[CALLER_PROPERTY] ?? null;
}
