import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../http/errors.ts';
import { secretHash } from './keys.ts';
import { CREDENTIAL_CACHE_MS } from './marks.ts';
import type { AccountsStore, ApiKeyDocument } from './store.ts';

/** Who calls: an account, by one of its API keys or by a console session. */
export interface Caller {
  accountId: string;
  plan: string;
  apiKeyId: string | null;
  sessionId: string | null;
  /** The operator stopped the account: the gate refuses its calls. */
  isSuspended?: boolean;
}

const CACHED_CREDENTIALS = 10_000;
const LAST_USED_RESOLUTION_MS = 60_000;
const SCHEME = /^(apikey|bearer) +(\S+)$/i;

export interface Authentication {
  /**
   * The caller behind the Authorization header; null when there is none.
   * @throws ApiError 401 unauthorized for a credential that is not accepted.
   */
  callerOf(request: FastifyRequest): Promise<Caller | null>;
  /** Forgets a credential in this process: it was revoked, or its account changed. */
  forget(credentialId: string): void;
}

interface Cached {
  caller: Caller;
  /** A session ends by itself; a key does not. */
  expiresAtMs: number;
}

/**
 * Looks credentials up by their SHA-256, so that no comparison of secrets happens in text, and keeps what it found for
 * at most 30 s.
 */
export function createAuthentication(store: AccountsStore, now: () => number): Authentication {
  const cache = new LRUCache<string, Cached>({
    max: CACHED_CREDENTIALS,
    ttl: CREDENTIAL_CACHE_MS,
    perf: { now },
    // Else the cache starts a timer a millisecond, to spare itself readings of the clock.
    ttlResolution: 0,
  });

  async function lookUp(scheme: string, hash: string): Promise<Cached | null> {
    return scheme === 'apikey' ? keyCaller(hash) : sessionCaller(hash);
  }

  async function keyCaller(hash: string): Promise<Cached | null> {
    const key = await store.findKeyByHash(hash);
    if (key === null || key.revokedAt !== null) return null;
    noteUse(key);
    const standing = await store.standingOf(key.accountId);
    if (standing === null) return null;
    const { plan, isSuspended } = standing;
    const caller = { accountId: key.accountId, plan, apiKeyId: key._id, sessionId: null, isSuspended };
    return { caller, expiresAtMs: Number.POSITIVE_INFINITY };
  }

  async function sessionCaller(hash: string): Promise<Cached | null> {
    const session = await store.findSessionByHash(hash);
    if (session === null) return null;
    const standing = await store.standingOf(session.accountId);
    if (standing === null) return null;
    const { plan, isSuspended } = standing;
    const caller = {
      accountId: session.accountId,
      plan,
      apiKeyId: null,
      sessionId: session._id,
      isSuspended,
    };
    return { caller, expiresAtMs: Date.parse(session.expiresAt) };
  }

  /** At most one write a minute; its loss costs nothing. */
  function noteUse(key: ApiKeyDocument): void {
    if (key.lastUsedAt !== null && now() - Date.parse(key.lastUsedAt) < LAST_USED_RESOLUTION_MS) return;
    store.noteKeyUse(key, new Date(now())).catch(() => undefined);
  }

  return {
    async callerOf(request) {
      const header = request.headers.authorization;
      if (header === undefined) return null;
      const [, scheme = '', secret = ''] = SCHEME.exec(header.trim()) ?? [];
      const isSession = scheme.toLowerCase() === 'bearer';
      if (secret === '') throw notAccepted(isSession);
      if (isSession && secret.startsWith('drk_')) throw keyAsBearer();
      const hash = secretHash(secret);
      const cacheKey = `${scheme.toLowerCase()} ${hash}`;
      let found: Cached | null | undefined = cache.get(cacheKey);
      if (found === undefined) {
        found = await lookUp(scheme.toLowerCase(), hash);
        if (found !== null) cache.set(cacheKey, found);
      }
      if (found === null || found.expiresAtMs <= now()) throw notAccepted(isSession);
      return found.caller;
    },
    forget(credentialId) {
      for (const [key, { caller }] of cache.entries()) {
        if (caller.apiKeyId === credentialId || caller.sessionId === credentialId) cache.delete(key);
      }
    },
  };
}

/** The habit of other services. Which key it is, and whether it is good, is not looked at. */
function keyAsBearer(): ApiError {
  return new ApiError('unauthorized', 'An API key was sent as Bearer: send "Authorization: ApiKey …".', {
    param: 'Authorization',
  });
}

/** 401 for a credential that is wrong, revoked or malformed: one answer a kind, so that nothing is learnt from it. */
function notAccepted(isSession: boolean): ApiError {
  return new ApiError(
    'unauthorized',
    isSession
      ? 'This session is not accepted or is over: sign in again at POST /api/v1/auth/sign-in.'
      : 'This credential is not accepted: send "Authorization: ApiKey <API_KEY>" with a key that was not revoked.',
    { param: 'Authorization' },
  );
}

/** 403: the credential is right, and its account was stopped by the operator. */
export function accountSuspended(): ApiError {
  return new ApiError('forbidden', 'This account is suspended: ask the operator of this service.', {
    details: { reason: 'account_suspended' },
  });
}
