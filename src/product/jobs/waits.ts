import { setTimeout as sleep } from 'node:timers/promises';
import { tooManyWaits } from './errors.ts';
import { isTerminal, type JobDocument } from './job.ts';

/** Longest wait that is held; a larger one is cut to it. */
export const LONGEST_WAIT_MS = 60_000;
/** How often a wait looks for itself: messages may be lost. */
const LOOK_MS = 2_000;

export interface WaitsOptions {
  /** Calls that may wait in this process, now. */
  limit: () => number;
  draining: AbortSignal;
}

/** Calls that wait for the end of a job. */
export function createWaits({ limit, draining }: WaitsOptions) {
  const waiting = new Map<string, Set<(job?: JobDocument) => void>>();
  let open = 0;

  /** Resolves when the job is said to have ended, with the job where it is known. */
  function endOf(jobId: string): { ended: Promise<JobDocument | undefined>; forget: () => void } {
    const { promise: ended, resolve } = Promise.withResolvers<JobDocument | undefined>();
    const listeners = waiting.get(jobId) ?? new Set();
    listeners.add(resolve);
    waiting.set(jobId, listeners);
    const forget = () => {
      listeners.delete(resolve);
      if (listeners.size === 0 && waiting.get(jobId) === listeners) waiting.delete(jobId);
    };
    return { ended, forget };
  }

  async function wait(jobId: string, waitMs: number, client: AbortSignal, look: Look): Promise<JobDocument> {
    const until = performance.now() + waitMs;
    const signal = AbortSignal.any([client, draining]);
    for (;;) {
      const { ended, forget } = endOf(jobId);
      const timer = new AbortController();
      try {
        const job = await look();
        const leftMs = until - performance.now();
        if (isTerminal(job.status) || leftMs <= 0 || signal.aborted) return job;
        const pause = sleep(Math.min(leftMs, LOOK_MS), undefined, {
          signal: AbortSignal.any([signal, timer.signal]),
        });
        const told = await Promise.race([ended, pause.catch(() => undefined)]);
        if (told !== undefined) return told;
      } finally {
        timer.abort();
        forget();
      }
    }
  }

  return {
    /**
     * Tells those who wait that a job has ended.
     * @param job as it ended, with all that follows from it; without it they look for themselves.
     */
    tell(jobId: string, job?: JobDocument): void {
      for (const resolve of waiting.get(jobId) ?? []) resolve(job);
    },

    /**
     * The job once it is terminal, or as it stands when the time is over, the client is gone or the process ends.
     * @throws ApiError provider_unavailable (capacity) when too many calls wait here
     */
    async untilEnded(jobId: string, waitMs: number, client: AbortSignal, look: Look): Promise<JobDocument> {
      if (waitMs <= 0) return look();
      if (open >= limit()) throw tooManyWaits();
      open += 1;
      try {
        return await wait(jobId, waitMs, client, look);
      } finally {
        open -= 1;
      }
    },
  };
}

/** Reads the job as it is now. */
type Look = () => Promise<JobDocument>;

export type Waits = ReturnType<typeof createWaits>;
