/** A Retry-After past this ends the item: its caller is better served by an answer now. */
const LONGEST_WAIT_MS = 5 * 60_000;

/**
 * When an item is tried again after a failure that may pass.
 * @param attempt the try that failed, from 1.
 * @param waitsMs the wait before each further try.
 * @param retryAfterMs what the provider asked for; it moves the next try later, never sooner.
 * @returns milliseconds from now; undefined when the tries are used up, or the provider asks for too long a wait.
 */
export function nextTryMs(
  attempt: number,
  waitsMs: readonly number[],
  retryAfterMs: number | undefined,
): number | undefined {
  const planned = waitsMs[attempt - 1];
  if (planned === undefined || (retryAfterMs ?? 0) > LONGEST_WAIT_MS) return undefined;
  return Math.max(planned, retryAfterMs ?? 0);
}

/** A Retry-After header in milliseconds: seconds, or a date as of `nowMs`. */
export function retryAfterMsOf(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}
