import type { Clock } from '../../platform/clock.ts';
import type { WorkClass } from './slots.ts';

/** One signal for the deadline and the disconnect of a client. */
export interface Deadline {
  /** Aborts with the error that the caller gets. */
  signal: AbortSignal;
  /** Epoch milliseconds of the deadline as it is now. */
  deadlineMs(): number;
  /** Waits for a slot. The deadline of a job moves by the wait; that of a call does not. */
  waiting<T>(slot: Promise<T>): Promise<T>;
  /** Stops the timer. Call it when the work has its result. */
  end(): void;
}

/**
 * Joins a deadline and the disconnect of a client into one signal. Its reason at the deadline is the result of `late`;
 * at a disconnect it is the reason of the client's signal.
 */
export function deadlineOf(options: {
  deadlineMs: number;
  /** The deadline of a call includes its waits, that of a job does not. Absent: a call. */
  work?: WorkClass | undefined;
  client: AbortSignal | undefined;
  clock: Clock;
  late: () => Error;
}): Deadline {
  const { client, clock, work = 'call' } = options;
  const controller = new AbortController();
  const leave = () => controller.abort(client?.reason);
  const startTimer = () => clock.after(deadlineMs - clock.nowMs(), () => controller.abort(options.late()));
  let { deadlineMs } = options;
  let cancel = startTimer();
  if (client?.aborted) leave();
  client?.addEventListener('abort', leave, { once: true });

  async function withoutTimer<T>(slot: Promise<T>): Promise<T> {
    const sinceMs = clock.elapsedMs();
    cancel();
    try {
      return await slot;
    } finally {
      deadlineMs += clock.elapsedMs() - sinceMs;
      cancel = startTimer();
    }
  }

  return {
    signal: controller.signal,
    deadlineMs: () => deadlineMs,
    waiting: (slot) => (work === 'job' ? withoutTimer(slot) : slot),
    end() {
      cancel();
      client?.removeEventListener('abort', leave);
    },
  };
}

/**
 * Resolves with the result of the work, or rejects with the signal's reason as soon as it aborts. The work itself goes
 * on, because a thread inside libvips cannot be stopped. Its slot is freed when the work ends.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
