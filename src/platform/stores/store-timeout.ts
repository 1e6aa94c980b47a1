import { type DocumentStore, StoreUnavailableError } from './documents/port.ts';
import { type Interceptor, wrapDocuments, wrapMethods } from './wrapped.ts';

interface StoreTimeoutOptions {
  /** The name of the store in an error. */
  name: string;
  /** The timeout of a step while the store responds to other steps. */
  longestMs: number;
  /** The timeout while the store does not respond, that is after the latest step of any call timed out. */
  silentMs: number;
}

/**
 * The timeouts of steps in a store. A call takes several steps in sequence, and an unavailable store would cost the
 * timeout of each. So after one timeout, the steps of all calls fail almost at once, until the store responds again. A
 * step that timed out may still be executed.
 */
export class StoreTimeout {
  readonly #name: string;
  readonly #longestMs: number;
  readonly #silentMs: number;
  #isSilent = false;

  constructor(options: StoreTimeoutOptions) {
    this.#name = options.name;
    this.#longestMs = options.longestMs;
    this.#silentMs = options.silentMs;
  }

  /**
   * Runs a step within its timeout.
   * @throws StoreUnavailableError when there is no response in time; any error of the step.
   */
  run<T>(step: () => Promise<T>): Promise<T> {
    const limitMs = this.#isSilent ? this.#silentMs : this.#longestMs;
    return new Promise<T>((resolve, reject) => {
      let isAnswered = false;
      const giveUp = () => {
        if (isAnswered) return;
        this.#isSilent = true;
        reject(new StoreUnavailableError(`${this.#name} did not answer within ${limitMs} ms.`));
      };
      // A process that had no CPU may not have read the response yet, so its input is read before the step fails.
      const timer = setTimeout(() => setImmediate(giveUp), limitMs);
      this.#watched(step)
        .then(resolve, reject)
        .finally(() => {
          isAnswered = true;
          clearTimeout(timer);
        });
    });
  }

  async #watched<T>(step: () => Promise<T>): Promise<T> {
    try {
      const answer = await step();
      this.#isSilent = false;
      return answer;
    } catch (error) {
      this.#isSilent = error instanceof StoreUnavailableError;
      throw error;
    }
  }
}

/** Methods without a timeout: they do not use the store, or they run once and may take long. */
const UNTIMED_METHODS = new Set(['collection', 'subscribe', 'observe', 'close']);

function around(timeout: StoreTimeout): (method: string) => Interceptor {
  return (method) => (step) => (UNTIMED_METHODS.has(method) ? step() : timeout.run(async () => step()));
}

/** Wraps a store interface so that each call of its methods has a timeout. */
export function withTimeouts<P extends object>(port: P, timeout: StoreTimeout): P {
  return wrapMethods(port, around(timeout));
}

/** Wraps documents and their collections so that each step has a timeout. */
export function documentsWithTimeouts(documents: DocumentStore, timeout: StoreTimeout): DocumentStore {
  return wrapDocuments(documents, around(timeout));
}
