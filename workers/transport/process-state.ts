import { writeFileSync } from 'node:fs';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const [OPEN, BEGUN, DONE] = [0, 1, 2];
/** Longer than such an action ever takes. After it, the thread that ran the action is taken to be dead. */
const TIMEOUT_MS = 1_000;

/** Allows the threads that this one starts later to share an action of `oncePerProcess`. */
export function shareOncePerProcess(name: string): void {
  if (getEnvironmentData(name) === undefined)
    setEnvironmentData(name, new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)));
}

/**
 * Runs an action that changes the state of the whole process, unless another thread has run it. Returns when the action
 * is done, in whichever thread. If its name is not shared, the caller is the only thread.
 * @param name the same as in `shareOncePerProcess`.
 */
export function oncePerProcess(name: string, action: () => void): void {
  const state = getEnvironmentData(name);
  if (!(state instanceof Int32Array)) {
    action();
    return;
  }
  if (Atomics.compareExchange(state, 0, OPEN, BEGUN) !== OPEN) {
    const isDone = Atomics.wait(state, 0, BEGUN, TIMEOUT_MS) !== 'timed-out';
    if (isDone) return;
  }
  action();
  Atomics.store(state, 0, DONE);
  Atomics.notify(state, 0);
}

/** The score for the Linux out-of-memory killer, between 0 (the processes of the service) and 1,000. */
const SCORE = 800;

/**
 * Makes Linux end this process, and the processes that it starts later, before those of the service when memory runs
 * out. It does nothing on other systems, and for a process that has ended.
 */
export function endFirstWithoutMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(SCORE));
  } catch {}
}
