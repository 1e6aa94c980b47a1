import { writeFileSync } from 'node:fs';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const [ACTION_OPEN, ACTION_BEGUN, ACTION_DONE] = [0, 1, 2];
/** The time after which the thread that runs the action counts as dead. An action takes far less. */
const ACTION_TIMEOUT_MS = 1_000;

/** Lets this thread and the threads that it starts later share an action of `oncePerProcess`. */
export function shareOncePerProcess(name: string): void {
  if (getEnvironmentData(name) === undefined)
    setEnvironmentData(name, new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)));
}

/**
 * Runs an action that changes the state of the whole process, once for all threads that share its name. Returns when
 * the action is done, by whichever thread. If the name is not shared, the caller must be the only thread.
 * @param name the name of the action, as given to `shareOncePerProcess`.
 */
export function oncePerProcess(name: string, action: () => void): void {
  const state = getEnvironmentData(name);
  if (!(state instanceof Int32Array)) {
    action();
    return;
  }
  if (Atomics.compareExchange(state, 0, ACTION_OPEN, ACTION_BEGUN) !== ACTION_OPEN) {
    const isDone = Atomics.wait(state, 0, ACTION_BEGUN, ACTION_TIMEOUT_MS) !== 'timed-out';
    if (isDone) return;
  }
  action();
  Atomics.store(state, 0, ACTION_DONE);
  Atomics.notify(state, 0);
}

/** The score for the Linux out-of-memory killer, between 0 (the processes of the service) and 1,000. */
const OOM_SCORE = 800;

/**
 * Makes Linux end this process, and the processes that it starts later, before those of the service when memory runs
 * out. It does nothing on other systems, and for a process that has ended.
 */
export function preferForOomKill(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE));
  } catch {}
}
