import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { FairQueue } from '../../platform/queues.ts';
import { tooManyWaitsError } from './errors.ts';
import { hasEnded, type JobDocument } from './job.ts';

/** The interval at which a waiting call reads its job, because messages may be lost. */
const JOB_POLL_INTERVAL_MS = 2_000;

const MAX_RECENTLY_ENDED = 200;

interface WaitsOptions {
  /** Returns the maximum number of calls that may wait in this process. */
  limit: () => number;
  draining: AbortSignal;
}

interface JobEndWait {
  accountId: string;
  request: FastifyRequest;
  /** Aborts when the client disconnects. */
  clientSignal: AbortSignal;
  read: () => Promise<JobDocument>;
  /** The job that the submit has just created, which saves the first read. */
  known?: JobDocument;
}

export class JobEndWaiters {
  readonly #options: WaitsOptions;
  /**
   * Emits an event when a job has ended. Its name is the id of the job; its argument is the job, if this process has
   * it. A wait for an invalid id ends at its first read, so it never receives events of the emitter itself, such as
   * `newListener`.
   */
  readonly #endEvents = new EventEmitter().setMaxListeners(0);
  /**
   * Jobs that have ended in this process a short time ago. A job may end between its submit and the beginning of the
   * wait for it.
   */
  readonly #recentlyEnded = new LRUCache<string, JobDocument>({
    max: MAX_RECENTLY_ENDED,
    ttl: JOB_POLL_INTERVAL_MS,
  });
  /** The functions that end the running waits, by account. */
  readonly #waiting = new FairQueue<() => void>();

  constructor(options: WaitsOptions) {
    this.#options = options;
  }

  /**
   * Ends the waits for a job that has ended.
   * @param job the ended job after its clean-up. Absent: each wait reads it.
   */
  endWaits = (jobId: string, job?: JobDocument): void => {
    if (job !== undefined) this.#recentlyEnded.set(jobId, job);
    this.#endEvents.emit(jobId, job);
  };

  /**
   * Waits for the end of a job. Resolves with the ended job, or with its current state when the time is over, the
   * client has disconnected, the process is stopping, or a full process needs the place for another account.
   * @throws ApiError provider_unavailable (capacity) when too many calls wait in this process
   */
  async untilEnded(jobId: string, waitMs: number, terms: JobEndWait): Promise<JobDocument> {
    if (waitMs <= 0) return terms.read();
    const { accountId } = terms;
    const leaveController = new AbortController();
    const giveUp = () => leaveController.abort();
    this.#makeRoom(accountId);
    this.#waiting.add(accountId, giveUp);
    const startMs = performance.now();
    try {
      const clientSignal = AbortSignal.any([terms.clientSignal, leaveController.signal]);
      return await this.#wait(jobId, waitMs, { ...terms, clientSignal });
    } finally {
      this.#waiting.remove(accountId, giveUp);
      // The caller asked for this wait, so that it does not make the answer a slow one.
      terms.request.requestedWaitSeconds = (performance.now() - startMs) / 1_000;
    }
  }

  /** Makes room for another wait. In a full process, a wait of the account with the most waits ends early. */
  #makeRoom(accountId: string): void {
    while (this.#waiting.size >= this.#options.limit()) {
      const excess = this.#waiting.findExcessWaiter(accountId);
      if (excess === undefined) throw tooManyWaitsError();
      this.#waiting.remove(excess.owner, excess.waiter);
      excess.waiter();
    }
  }

  async #wait(
    jobId: string,
    waitMs: number,
    { clientSignal, read, known }: JobEndWait,
  ): Promise<JobDocument> {
    const until = performance.now() + waitMs;
    const signal = AbortSignal.any([clientSignal, this.#options.draining]);
    for (let first = known; ; first = undefined) {
      const { promise: ended, resolve } = Promise.withResolvers<JobDocument | undefined>();
      this.#endEvents.once(jobId, resolve);
      const sleepController = new AbortController();
      try {
        const job = first === undefined ? await read() : (this.#recentlyEnded.get(jobId) ?? first);
        const remainingMs = until - performance.now();
        if (hasEnded(job) || remainingMs <= 0 || signal.aborted) return job;
        const pause = sleep(Math.min(remainingMs, JOB_POLL_INTERVAL_MS), undefined, {
          signal: AbortSignal.any([signal, sleepController.signal]),
        });
        const endedJob = await Promise.race([ended, pause.catch(() => undefined)]);
        if (endedJob !== undefined) return endedJob;
      } finally {
        sleepController.abort();
        this.#endEvents.off(jobId, resolve);
      }
    }
  }
}
