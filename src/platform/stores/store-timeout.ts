import { type Documents, StoreUnavailableError } from './documents/port.ts';
import { wrapped } from './wrapped.ts';

interface StoreTimeoutOptions {
  /** The name of the store in an error. */
  name: string;
  /** How long one step waits for a store that answers others. */
  longestMs: number;
  /** How long it waits while the store is silent: its last outcome was none, for whichever call. */
  silentMs: number;
}

/**
 * How long the steps of calls wait for a store. A call takes several steps one after the other, and a store that is
 * away would cost it the deadline of each. So the first step that waits in vain finds out, and the next ones, of this
 * call and of others, fail almost at once, until an answer comes: a late one, too. A step that was given up may still
 * be carried out.
 */
interface StoreTimeout {
  /** @throws StoreUnavailableError when the answer does not come in time, or what the step throws. */
  run<T>(step: () => Promise<T>): Promise<T>;
}

export function createStoreTimeout({ name, longestMs, silentMs }: StoreTimeoutOptions): StoreTimeout {
  let isSilent = false;

  async function watched<T>(step: () => Promise<T>): Promise<T> {
    try {
      const answer = await step();
      isSilent = false;
      return answer;
    } catch (error) {
      isSilent = error instanceof StoreUnavailableError;
      throw error;
    }
  }

  return {
    run<T>(step: () => Promise<T>): Promise<T> {
      const limitMs = isSilent ? silentMs : longestMs;
      return new Promise<T>((resolve, reject) => {
        let isAnswered = false;
        const giveUp = () => {
          if (isAnswered) return;
          isSilent = true;
          reject(new StoreUnavailableError(`${name} did not answer within ${limitMs} ms.`));
        };
        // A process without CPU for this long may not have read an answer yet: its input is read before the call fails.
        const timer = setTimeout(() => setImmediate(giveUp), limitMs);
        watched(step)
          .then(resolve, reject)
          .finally(() => {
            isAnswered = true;
            clearTimeout(timer);
          });
      });
    },
  };
}

/** Not asked of the store, or as long as it takes: a collection is declared once. */
const UNTIMED = new Set(['collection', 'subscribe', 'observe', 'close']);

/** The same port, whose every step is waited for with timeout. */
export function timed<P extends object>(port: P, timeout: StoreTimeout): P {
  return wrapped(
    port,
    (method) => (step) => (UNTIMED.has(method) ? step() : timeout.run(async () => step())),
  );
}

/** The same documents and their collections, whose every step is waited for with timeout. */
export function timedDocuments(documents: Documents, timeout: StoreTimeout): Documents {
  return {
    ...timed(documents, timeout),
    collection: async (spec) => timed(await documents.collection(spec), timeout),
  };
}
