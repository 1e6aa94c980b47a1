import type { Clock } from './clock.ts';

/** How long somebody wants an answer. */
export interface Patience {
  /** Aborts with the reason that the caller is to be told. */
  signal: AbortSignal;
  /** Stops the timer; call it once the answer is there. */
  end(): void;
}

/**
 * Joins a deadline and a client that may go away into one signal, so that whoever waits or works knows a single ending.
 * At the deadline the reason is what `late` answers then; when the client goes away it is the client's own reason.
 */
export function patienceUntil(options: {
  deadlineMs: number;
  client: AbortSignal | undefined;
  clock: Clock;
  late: () => Error;
}): Patience {
  const { client, clock } = options;
  const controller = new AbortController();
  const leave = () => controller.abort(client?.reason);
  const cancel = clock.after(options.deadlineMs - clock.nowMs(), () => controller.abort(options.late()));
  if (client?.aborted) leave();
  client?.addEventListener('abort', leave, { once: true });
  return {
    signal: controller.signal,
    end() {
      cancel();
      client?.removeEventListener('abort', leave);
    },
  };
}

/**
 * The work's outcome, or a rejection with the signal's reason as soon as it aborts. The work itself goes on: a thread
 * inside libvips cannot be stopped, so whoever holds a place for it gives that back when the work ends, not here.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
