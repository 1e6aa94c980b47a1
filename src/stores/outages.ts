import { setTimeout as pause } from 'node:timers/promises';
import { StorageFullError, StoreUnavailableError } from './documents/port.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Whether a store is the cause: it was away or silent, or has no room. The same step succeeds once that is over. */
export function isOutage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StoreUnavailableError || cause instanceof StorageFullError) return true;
  }
  return false;
}

/**
 * Repeats a step until the stores carry it out, however long they are away. A step that may run twice without harm: one
 * that was carried out and not answered is repeated, too.
 * @throws what the step throws, where no store is the cause, or once the signal is aborted.
 */
export async function throughOutages<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await step();
    } catch (error) {
      if (!isOutage(error) || signal.aborted) throw error;
    }
    // A process that ends does not wait for it.
    await pause(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
  }
}
