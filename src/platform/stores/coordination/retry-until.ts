import { setTimeout as pause } from 'node:timers/promises';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Repeats a step that returns something to a store until it succeeds, so that after an outage it is not held until its
 * lease ends. The step must be idempotent.
 * @param leaseMs the lease, after which it is returned by itself and the retries end.
 * @throws the step's last error, when the lease is over.
 */
export async function retryUntil(step: () => Promise<unknown>, leaseMs: number): Promise<void> {
  const endsMs = performance.now() + leaseMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      await step();
      return;
    } catch (error) {
      if (performance.now() + pauseMs >= endsMs) throw error;
    }
    // A process that ends does not wait for it.
    await pause(pauseMs, undefined, { ref: false });
  }
}
