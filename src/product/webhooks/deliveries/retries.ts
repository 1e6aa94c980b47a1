import { HOUR_MS } from '../../../platform/values/units.ts';

const MINUTE_MS = 60_000;

const MAX_WAIT_MS = 6 * HOUR_MS;
const RETRY_WINDOW_MS = 24 * HOUR_MS;
export const MAX_ATTEMPTS = 12;

/**
 * When a delivery is tried again: min(2^(n-2) minutes, 6 h) after the attempt before attempt n has finished. Null when
 * that wait would cross 24 h after queueing, or all 12 attempts were made. Without delays the attempts lie at 0, 1, 3,
 * 7, 15, 31 min, 1 h 3, 2 h 7, 4 h 15, 8 h 31, 14 h 31 and 20 h 31 min. Exact, without jitter: endpoints fail at
 * different instants anyway.
 * @param attempts number of attempts made, at least 1.
 */
export function nextAttempt(attempts: number, finishedAt: Date, queuedAt: Date): Date | null {
  if (attempts >= MAX_ATTEMPTS) return null;
  const waitMs = Math.min(2 ** (attempts - 1) * MINUTE_MS, MAX_WAIT_MS);
  const nextMs = finishedAt.getTime() + waitMs;
  return nextMs > queuedAt.getTime() + RETRY_WINDOW_MS ? null : new Date(nextMs);
}
