import type { FastifyReply } from 'fastify';

/** The state of an account's rate window, as the response headers show it. */
export interface RateWindowState {
  limit: number;
  windowMs: number;
  remaining: number;
  resetMs: number;
}

/**
 * Sends the rest of the caller's rate window: in the three headers of the API, and in the two of the draft standard.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function sendRateLimitHeaders(
  reply: FastifyReply,
  { limit, windowMs, remaining, resetMs }: RateWindowState,
): void {
  const resetSeconds = Math.ceil(resetMs / 1000);
  reply.header('ratelimit-limit', String(limit));
  reply.header('ratelimit-remaining', String(remaining));
  reply.header('ratelimit-reset', String(resetSeconds));
  reply.header('ratelimit-policy', `"requests";q=${limit};w=${windowMs / 1000}`);
  reply.header('ratelimit', `"requests";r=${remaining};t=${resetSeconds}`);
}
