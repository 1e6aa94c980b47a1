/** Signals that end a run: Ctrl-C, the cancel of a CI, a lost terminal. Values are their numbers. */
const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** The person, or a machine, ended the run before it had measured anything. */
export class StoppedError extends Error {}

/** The request to end a run early. */
export interface Stopping {
  signal: AbortSignal;
  /** Exit code of a shell for a program that a signal has ended: 128 and its number. 0 without a signal. */
  exitCode(): number;
}

/**
 * Treats all signals alike. The first one ends the run, which reports the data measured so far; a second one ends the
 * process at once. The cleanups of `atExit` run in both cases.
 */
export function stopOnSignals(): Stopping {
  const controller = new AbortController();
  let exitCode = 0;
  for (const [name, number] of Object.entries(SIGNALS))
    process.on(name, () => {
      if (exitCode !== 0) process.exit(exitCode);
      exitCode = 128 + number;
      console.error('\nStopping. A second signal ends without a report.');
      controller.abort(new StoppedError('Stopped before anything was measured.'));
    });
  // Writes to a closed terminal fail, but the report must still be written.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return { signal: controller.signal, exitCode: () => exitCode };
}

/** Waits for work that cannot be interrupted. @throws StoppedError as soon as the run is to end. */
export async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

const cleanups: Array<() => void> = [];
process.on('exit', () => {
  for (const cleanUp of cleanups.splice(0).reverse()) cleanUp();
});

/**
 * Registers a synchronous cleanup, for an exit before its owner has run it.
 * @returns a function that removes it.
 */
export function atExit(cleanUp: () => void): () => void {
  cleanups.push(cleanUp);
  return () => {
    const index = cleanups.indexOf(cleanUp);
    if (index !== -1) cleanups.splice(index, 1);
  };
}
