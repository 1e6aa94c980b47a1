import { ApiError } from '../../../platform/http/errors/errors.ts';

interface SignInQueueOptions {
  /** The maximum number of passwords that are verified at once. */
  maxRunning: number;
  /** The maximum number of waiting sign-ins, over all networks. */
  maxWaiting: number;
  /** The maximum number of waiting sign-ins per network. */
  maxWaitingPerNetwork: number;
  /** How long a sign-in waits before it is refused, in milliseconds. */
  maxWaitMs: number;
}

interface WaitingSignIn {
  admit(): void;
  refuse(): void;
}

interface NetworkQueue {
  network: string;
  waiters: WaitingSignIn[];
}

const SIGN_IN_RETRY_AFTER_SECONDS = 2;

/**
 * A bounded queue for the costly check of passwords. The network that arrived last is served first, so that a flood of
 * waiting sign-ins does not delay a new network. A network that was just served is served last.
 */
export class SignInQueue {
  readonly #options: SignInQueueOptions;
  /** The queue of each network. The last one is served next. */
  #networkQueues: NetworkQueue[] = [];
  #running = 0;

  constructor(options: SignInQueueOptions) {
    this.#options = options;
  }

  /**
   * Waits until a sign-in may be verified. The returned function must be called after the verification.
   * @throws ApiError 429 rate_limited, reason sign_in_queue, when the queue is full or the wait was too long; the
   * signal's reason when it aborts.
   */
  async enter(network: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.#options.maxRunning) this.#running += 1;
    else {
      this.#makeRoom(network);
      await this.#waitForTurn(network, signal);
    }
    let hasLeft = false;
    return () => {
      if (!hasLeft) this.#admitNext();
      hasLeft = true;
    };
  }

  #queueOf(network: string): NetworkQueue | undefined {
    return this.#networkQueues.find((line) => line.network === network);
  }

  #admitNext(): void {
    this.#running -= 1;
    const line = this.#networkQueues.pop();
    const next = line?.waiters.shift();
    if (line === undefined || next === undefined) return;
    if (line.waiters.length > 0) this.#networkQueues.unshift(line);
    this.#running += 1;
    next.admit();
  }

  /**
   * Makes room for one more waiting sign-in of the network. If the network already has its maximum of waiting sign-ins,
   * the new one is refused. If the whole queue is full, the newest sign-in of the network that would be served last is
   * refused, unless the new sign-in belongs to that network.
   */
  #makeRoom(network: string): void {
    const line = this.#queueOf(network);
    if (line !== undefined && line.waiters.length >= this.#options.maxWaitingPerNetwork)
      throw queueFullError();
    const waiting = this.#networkQueues.reduce((sum, { waiters }) => sum + waiters.length, 0);
    if (waiting < this.#options.maxWaiting) return;
    if (line !== undefined) throw queueFullError();
    this.#networkQueues[0]?.waiters.at(-1)?.refuse();
  }

  #waitForTurn(network: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        const line = this.#queueOf(network);
        if (line !== undefined) line.waiters = line.waiters.filter((other) => other !== waiter);
        this.#networkQueues = this.#networkQueues.filter(({ waiters }) => waiters.length > 0);
        settle();
      };
      const giveUp = () => end(() => reject(signal.reason));
      const waiter: WaitingSignIn = {
        admit: () => end(resolve),
        refuse: () => end(() => reject(queueFullError())),
      };
      const timer = setTimeout(waiter.refuse, this.#options.maxWaitMs);
      const line = this.#queueOf(network);
      if (line === undefined) this.#networkQueues.push({ network, waiters: [waiter] });
      else line.waiters.push(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}

function queueFullError(): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many sign-ins are under way: wait for Retry-After seconds, and sign in again.',
    { details: { reason: 'sign_in_queue' }, retryAfterSeconds: SIGN_IN_RETRY_AFTER_SECONDS },
  );
}
