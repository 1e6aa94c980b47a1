import { setTimeout as pause } from 'node:timers/promises';
import { StorageFullError, StoreUnavailableError } from './documents/port.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Whether the cause is a store that was unavailable or did not respond. The same step succeeds once the store is
 * available.
 */
export function isOutage(error: unknown): boolean {
  return isCausedBy(error, StoreUnavailableError);
}

/**
 * Repeats a step while the stores are unavailable or full. The step must be idempotent, because it is also repeated if
 * it was executed and its response was lost.
 * @throws the error of the step if no store is its cause, or once the signal is aborted.
 */
export async function throughOutages<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await step();
    } catch (error) {
      const passes = isOutage(error) || isCausedBy(error, StorageFullError);
      if (!passes || signal.aborted) throw error;
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
