import { ApiError } from '../http/errors.ts';

export interface SignInQueueOptions {
  /** Passwords judged at once. */
  atOnce: number;
  /** Sign-ins that wait, over all networks. */
  mostWaiting: number;
  /** Of these, from one network. */
  mostOfNetwork: number;
}

/** A bounded waiting room before the costly judging of passwords, where networks take turns. */
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
  /** Those who wait, by network; the first network is the one whose last turn is longest ago. */
  const lines = new Map<string, Waiter[]>();
  let running = 0;
  let waiting = 0;

  function leave(): void {
    running -= 1;
    const [next] = lines;
    if (next === undefined) return;
    const [network, line] = next;
    const waiter = line[0];
    if (waiter === undefined) return;
    remove(network, waiter);
    if (line.length > 0) {
      lines.delete(network);
      lines.set(network, line);
    }
    running += 1;
    waiter.admit();
  }

  function remove(network: string, waiter: Waiter): void {
    const line = lines.get(network) ?? [];
    line.splice(line.indexOf(waiter), 1);
    waiting -= 1;
    if (line.length === 0) lines.delete(network);
  }

  function wait(network: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        remove(network, waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        admit() {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const line = lines.get(network);
      if (line === undefined) lines.set(network, [waiter]);
      else line.push(waiter);
      waiting += 1;
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    async enter(network, signal) {
      signal.throwIfAborted();
      if (running < atOnce) running += 1;
      else if (waiting >= mostWaiting || (lines.get(network)?.length ?? 0) >= mostOfNetwork) throw noRoom();
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
