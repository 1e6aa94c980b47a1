import type { Clock } from '../../platform/clock/clock.ts';
import type { WorkClass } from './admission.ts';

/** One signal for the deadline and the disconnect of a client. */
export interface Deadline {
  /** Aborts with the error that the caller gets. */
  signal: AbortSignal;
  /** Epoch milliseconds of the deadline as it is now. */
  deadlineMs(): number;
  /** Awaits a slot to work in. Of a job's time this takes nothing: its deadline moves by what it waited. */
  waiting<T>(slot: Promise<T>): Promise<T>;
  /** Stops the timer; call it once the answer is there. */
  end(): void;
}

/**
 * Joins a deadline and a client that may go away into one signal, so that code that waits or works has a single ending
 * to watch. At the deadline the reason is what `late` answers then; when the client goes away it is the client's own
 * reason.
 */
export function deadlineOf(options: {
  deadlineMs: number;
  /** The deadline of a call counts all its time, that of a job its work alone. Absent: a call. */
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
 * The work's outcome, or a rejection with the signal's reason as soon as it aborts. The work itself goes on: a thread
 * inside libvips cannot be stopped, so the holder of its slot gives that back when the work ends, not here.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
