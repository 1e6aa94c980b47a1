/** A longer Retry-After fails the item at once, because that serves its caller better than waiting. */
const MAX_WAIT_MS = 5 * 60_000;

/**
 * The time of the next attempt after a failure that may pass.
 * @param attempt the number of the failed attempt, from 1.
 * @param waitsMs the wait before each further attempt.
 * @param retryAfterMs the wait that the provider asked for; it can only delay the next attempt.
 * @returns milliseconds from now; undefined when no attempt is left, or the provider asks for too long a wait.
 */
export function nextTryMs(attempt: number, waitsMs: readonly number[], retryAfterMs = 0): number | undefined {
  const planned = waitsMs[attempt - 1];
  if (planned === undefined || retryAfterMs > MAX_WAIT_MS) return undefined;
  return Math.max(planned, retryAfterMs);
}

/** Parses a Retry-After header (seconds or a date) to milliseconds from `nowMs`. */
export function retryAfterMsOf(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}
