import { setTimeout as pause } from 'node:timers/promises';
import { StorageFullError, StoreUnavailableError } from './documents/port.ts';

const INITIAL_RETRY_PAUSE_MS = 250;
const MAX_RETRY_PAUSE_MS = 5_000;

/**
 * Whether the cause of an error is a store that was unavailable or did not respond. The same step succeeds once the
 * store is available.
 */
export function isStoreOutage(error: unknown): boolean {
  return isCausedBy(error, StoreUnavailableError);
}

/**
 * Repeats a step while the stores are unavailable or full. The step must be idempotent, because it is also repeated if
 * it was executed and its response was lost.
 * @throws the error of the step if no store is its cause, or once the signal is aborted.
 */
export function retryThroughOutages<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const isTemporary = (error: unknown) => isStoreOutage(error) || isCausedBy(error, StorageFullError);
  return retryWithBackoff(step, (error) => !isTemporary(error) || signal.aborted, signal);
}

/**
 * Repeats a step that releases something in a store until it succeeds, so that an outage does not delay the release
 * until the lease ends. The step must be idempotent.
 * @param leaseMs the lease, after which the release happens by itself and the retries end.
 * @throws the step's last error, when the lease is over.
 */
export async function retryUntilLeaseEnds(step: () => Promise<unknown>, leaseMs: number): Promise<void> {
  const endsMs = performance.now() + leaseMs;
  await retryWithBackoff(step, (_error, pauseMs) => performance.now() + pauseMs >= endsMs);
}

/**
 * Repeats a step, with growing pauses, until it succeeds.
 * @param isLast whether an error ends the repetition; `pauseMs` is the pause that would follow.
 * @param signal ends a pause early.
 */
async function retryWithBackoff<T>(
  step: () => Promise<T>,
  isLast: (error: unknown, pauseMs: number) => boolean,
  signal?: AbortSignal,
): Promise<T> {
  for (let pauseMs = INITIAL_RETRY_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_RETRY_PAUSE_MS)) {
    try {
      return await step();
    } catch (error) {
      if (isLast(error, pauseMs)) throw error;
    }
    // The timer does not keep an ending process alive.
    await pause(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
  }
}

function isCausedBy(error: unknown, kind: typeof StoreUnavailableError | typeof StorageFullError): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof kind) return true;
  }
  return false;
}
