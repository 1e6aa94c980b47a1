import { ApiError } from '../../../platform/http/errors/errors.ts';

interface SignInQueueOptions {
  /** The most passwords that are verified at once. */
  atOnce: number;
  /** The most sign-ins that wait, over all networks. */
  mostWaiting: number;
  /** The most sign-ins of one network that wait. */
  mostOfNetwork: number;
  /** Milliseconds after which a sign-in that still waits is refused. */
  mostWaitMs: number;
}

interface WaitingSignIn {
  admit(): void;
  refuse(): void;
}

interface NetworkLine {
  network: string;
  waiters: WaitingSignIn[];
}

const RETRY_AFTER_SECONDS = 2;

/**
 * A bounded queue in front of the costly check of passwords. The network that arrived last is served first, so that a
 * flood that already waits does not delay a newcomer. A network that was served moves to the end.
 */
export class SignInQueue {
  readonly #options: SignInQueueOptions;
  /** The last line is served next. */
  #lines: NetworkLine[] = [];
  #running = 0;

  constructor(options: SignInQueueOptions) {
    this.#options = options;
  }

  /**
   * Waits for a turn. The returned function ends it.
   * @throws ApiError 429 rate_limited, reason sign_in_queue, when the queue is full or the wait was too long; the
   *   signal's reason when it aborts.
   */
  async enter(network: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.#options.atOnce) this.#running += 1;
    else {
      this.#makeRoom(network);
      await this.#wait(network, signal);
    }
    let hasLeft = false;
    return () => {
      if (!hasLeft) this.#leave();
      hasLeft = true;
    };
  }

  #waiting(): number {
    return this.#lines.reduce((sum, { waiters }) => sum + waiters.length, 0);
  }

  #lineOf(network: string): NetworkLine | undefined {
    return this.#lines.find((line) => line.network === network);
  }

  #leave(): void {
    this.#running -= 1;
    const line = this.#lines.pop();
    const next = line?.waiters.shift();
    if (line === undefined || next === undefined) return;
    if (line.waiters.length > 0) this.#lines.unshift(line);
    this.#running += 1;
    next.admit();
  }

  #remove(network: string, waiter: WaitingSignIn): void {
    const line = this.#lineOf(network);
    if (line === undefined) return;
    line.waiters = line.waiters.filter((other) => other !== waiter);
    this.#lines = this.#lines.filter(({ waiters }) => waiters.length > 0);
  }

  /**
   * Makes room for one more waiting sign-in of the network. A full queue refuses the last waiter of the network that
   * would be served last, but only for a network that has no waiter yet.
   */
  #makeRoom(network: string): void {
    const line = this.#lineOf(network);
    if (line !== undefined && line.waiters.length >= this.#options.mostOfNetwork) throw noRoom();
    if (this.#waiting() < this.#options.mostWaiting) return;
    if (line !== undefined) throw noRoom();
    this.#lines[0]?.waiters.at(-1)?.refuse();
  }

  #wait(network: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#remove(network, waiter);
        settle();
      };
      const giveUp = () => end(() => reject(signal.reason));
      const waiter: WaitingSignIn = {
        admit: () => end(resolve),
        refuse: () => end(() => reject(noRoom())),
      };
      const timer = setTimeout(waiter.refuse, this.#options.mostWaitMs);
      const line = this.#lineOf(network);
      if (line === undefined) this.#lines.push({ network, waiters: [waiter] });
      else line.waiters.push(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}

function noRoom(): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many sign-ins are under way: wait for Retry-After seconds, and sign in again.',
    { details: { reason: 'sign_in_queue' }, retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
