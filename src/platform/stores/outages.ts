import { setTimeout as pause } from 'node:timers/promises';
import { StorageFullError, StoreUnavailableError } from './documents/port.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Whether the cause is a store that was away or silent. The same step succeeds once the store is back. */
export function isOutage(error: unknown): boolean {
  return isCausedBy(error, StoreUnavailableError);
}

/**
 * Repeats a step until the stores carry it out, however long they are away or full. A step that may run twice without
 * harm: one that was carried out and not answered is repeated, too.
 * @throws what the step throws, where no store is the cause, or once the signal is aborted.
 */
export async function throughOutages<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await step();
    } catch (error) {
      const passes = isOutage(error) || isCausedBy(error, StorageFullError);
      if (!passes || signal.aborted) throw error;
    }
    // A process that ends does not wait for it.
    await pause(pauseMs, undefined, { ref: false, signal }).catch(() => undefined);
  }
}

function isCausedBy(error: unknown, kind: typeof StoreUnavailableError | typeof StorageFullError): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof kind) return true;
  }
  return false;
}
