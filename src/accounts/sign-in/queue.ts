import { ApiError } from '../../http/errors.ts';
import { createTurns } from '../../turns/turns.ts';

export interface SignInQueueOptions {
  /** Passwords judged at once. */
  atOnce: number;
  /** Sign-ins that wait, over all networks. */
  mostWaiting: number;
  /** Of these, from one network. */
  mostOfNetwork: number;
}

/**
 * A bounded waiting room before the costly judging of passwords, where networks take turns. It is not the admission of the
 * pixels: it has no memory to share out, bounds the room for each network too, and stands before the caller is known.
 */
export interface SignInQueue {
  /**
   * Waits for a turn; the answer ends it.
   * @throws ApiError 429 rate_limited, reason sign_in_queue, when there is no room; the signal's reason when it aborts.
   */
  enter(network: string, signal: AbortSignal): Promise<() => void>;
}

interface Waiter {
  admit(): void;
}

const RETRY_AFTER_SECONDS = 2;

export function createSignInQueue({ atOnce, mostWaiting, mostOfNetwork }: SignInQueueOptions): SignInQueue {
  const turns = createTurns<Waiter>();
  let running = 0;

  function leave(): void {
    running -= 1;
    const next = turns.next();
    if (next === undefined) return;
    turns.serve(next.owner, next.waiter);
    running += 1;
    next.waiter.admit();
  }

  function wait(network: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        turns.remove(network, waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        admit() {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      turns.add(network, waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    async enter(network, signal) {
      signal.throwIfAborted();
      if (running < atOnce) running += 1;
      else if (turns.size >= mostWaiting || turns.sizeOf(network) >= mostOfNetwork) throw noRoom();
      else await wait(network, signal);
      let left = false;
      return () => {
        if (!left) leave();
        left = true;
      };
    },
  };
}

function noRoom(): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many sign-ins are under way: wait for Retry-After seconds, and sign in again.',
    { details: { reason: 'sign_in_queue' }, retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
