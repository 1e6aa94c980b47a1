import { FairQueue } from '../../platform/queues.ts';

/** The account whose turn it is, and how long it waits. */
interface TurnTerms {
  /** The account; accounts take turns. */
  owner: string;
  /** Jobs yield to calls. */
  isJob: boolean;
  /** Ends the wait when it aborts, with its reason. */
  signal: AbortSignal;
}

interface WaitingWork {
  isJob: boolean;
  start: () => void;
}

/** A queue of work that must run one at a time, because a single thread does it. */
export class ReaderQueue {
  readonly #queue = new FairQueue<WaitingWork>();
  #isTaken = false;

  /** Number of calls that wait, without jobs. */
  get waitingCalls(): number {
    let count = 0;
    for (const [, waiters] of this.#queue.lines()) count += waiters.filter(({ isJob }) => !isJob).length;
    return count;
  }

  /** Runs the work when its turn comes. Rejects with the signal's reason, or as the work does. */
  async run<T>(waiting: TurnTerms, work: () => Promise<T>): Promise<T> {
    waiting.signal.throwIfAborted();
    if (this.#isTaken) await this.#wait(waiting);
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #wait({ owner, isJob, signal }: TurnTerms): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#queue.remove(owner, waiter);
      reject(signal.reason);
    };
    const waiter = {
      isJob,
      start: () => {
        signal.removeEventListener('abort', leave);
        resolve();
      },
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#queue.add(owner, waiter);
    return promise;
  }

  /** Starts the next work at once, so that no later caller can come between. */
  #startNext(): void {
    const next = this.#queue.next({ canServe: ({ isJob }) => !isJob }) ?? this.#queue.next();
    this.#isTaken = next !== undefined;
    if (next === undefined) return;
    this.#queue.serve(next.owner, next.waiter);
    next.waiter.start();
  }
}
