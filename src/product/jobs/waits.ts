import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { tooManyWaitsError } from './errors.ts';
import { hasEnded, type JobDocument } from './job.ts';

/** Interval at which a waiting call polls, because messages may be lost. */
const POLL_MS = 2_000;

const MAX_RECENTLY_ENDED = 200;

interface WaitsOptions {
  /** The number of calls that may wait in this process, read at each call. */
  limit: () => number;
  draining: AbortSignal;
}

interface WaitTerms {
  /** Aborts when the client goes away. */
  client: AbortSignal;
  /** Reads the job. */
  read: () => Promise<JobDocument>;
  /** The job that the submit has just made, which saves the first read. */
  known?: JobDocument;
}

/** Calls that wait for the end of a job. */
export class JobEndWaiters {
  readonly #limit: () => number;
  readonly #draining: AbortSignal;
  /**
   * Emits the id of each ended job, with the job if it is known. Ids are checked at the first read, so that an id is
   * never an event name of the emitter itself.
   */
  readonly #ends = new EventEmitter().setMaxListeners(0);
  /** Jobs that have just ended in this process. A job may end between its submit and the wait for it. */
  readonly #justEnded = new LRUCache<string, JobDocument>({ max: MAX_RECENTLY_ENDED, ttl: POLL_MS });
  #open = 0;

  constructor({ limit, draining }: WaitsOptions) {
    this.#limit = limit;
    this.#draining = draining;
  }

  /**
   * Ends the waits for a job that has ended.
   * @param job the ended job after its clean-up. Absent: each wait reads it.
   */
  notify = (jobId: string, job?: JobDocument): void => {
    if (job !== undefined) this.#justEnded.set(jobId, job);
    this.#ends.emit(jobId, job);
  };

  /**
   * Resolves with the job when it has ended, or with its current state when the time is over, the client has gone, or
   * the process ends.
   * @throws ApiError provider_unavailable (capacity) when too many calls wait in this process
   */
  async untilEnded(jobId: string, waitMs: number, terms: WaitTerms): Promise<JobDocument> {
    if (waitMs <= 0) return terms.read();
    if (this.#open >= this.#limit()) throw tooManyWaitsError();
    this.#open += 1;
    try {
      return await this.#wait(jobId, waitMs, terms);
    } finally {
      this.#open -= 1;
    }
  }

  async #wait(jobId: string, waitMs: number, { client, read, known }: WaitTerms): Promise<JobDocument> {
    const until = performance.now() + waitMs;
    const signal = AbortSignal.any([client, this.#draining]);
    for (let first = known; ; first = undefined) {
      const { promise: ended, resolve } = Promise.withResolvers<JobDocument | undefined>();
      this.#ends.once(jobId, resolve);
      const timer = new AbortController();
      try {
        const job = first === undefined ? await read() : (this.#justEnded.get(jobId) ?? first);
        const remainingMs = until - performance.now();
        if (hasEnded(job) || remainingMs <= 0 || signal.aborted) return job;
        const pause = sleep(Math.min(remainingMs, POLL_MS), undefined, {
          signal: AbortSignal.any([signal, timer.signal]),
        });
        const endedJob = await Promise.race([ended, pause.catch(() => undefined)]);
        if (endedJob !== undefined) return endedJob;
      } finally {
        timer.abort();
        this.#ends.off(jobId, resolve);
      }
    }
  }
}
