import { type DocumentStore, StoreUnavailableError } from './documents/port.ts';

/** A function around each call of a method, such as a measurement. It runs the call and returns its answer. */
export type StoreStepInterceptor = (step: () => unknown) => unknown;

/**
 * Wraps each method of a store interface.
 * @param interceptorOf makes the interceptor of a method. It is called once for each method, with its name.
 */
export function wrapMethods<P extends object>(
  port: P,
  interceptorOf: (method: string) => StoreStepInterceptor,
): P {
  const wrapped: Record<string, unknown> = {};
  const methods = port as Record<string, PortMethod>;
  for (const name of methodNames(port)) {
    const intercept = interceptorOf(name);
    wrapped[name] = (...args: unknown[]) => intercept(() => methods[name]?.(...args));
  }
  return wrapped as P;
}

/** The names of the methods of an object: its own, and those of its class. */
function methodNames(port: object): string[] {
  const prototype: object = Object.getPrototypeOf(port);
  const inheritedNames = prototype === Object.prototype ? [] : Object.getOwnPropertyNames(prototype);
  return [...Object.keys(port), ...inheritedNames.filter((name) => name !== 'constructor')];
}

/** Wraps each method of documents and of their collections. */
export function wrapDocuments(
  documents: DocumentStore,
  interceptorOf: (method: string) => StoreStepInterceptor,
): DocumentStore {
  return {
    ...wrapMethods(documents, interceptorOf),
    collection: (spec) => wrapMethods(documents.collection(spec), interceptorOf),
  };
}

type PortMethod = (...args: unknown[]) => unknown;

/** Methods without a timeout: they do not use the store, or they run once and may take long. */
const UNTIMED_METHODS = new Set(['prepare', 'subscribe', 'observe', 'close']);

interface StoreTimeoutOptions {
  /** How errors name the store, such as `MongoDB`. */
  name: string;
  /** The timeout of a step while the store responds to other steps. */
  timeoutMs: number;
  /** The timeout of a step after the latest step of any call has timed out. */
  timeoutWhenSilentMs: number;
}

/**
 * The timeouts of steps in a store. A call takes several steps in sequence, and an unavailable store would cost the
 * timeout of each. Therefore, after one timeout, the steps of all calls fail almost at once, until the store responds
 * again. A step that timed out may still be executed.
 */
export class StoreTimeout {
  readonly #options: StoreTimeoutOptions;
  #isSilent = false;

  constructor(options: StoreTimeoutOptions) {
    this.#options = options;
  }

  /** Makes the interceptor of a method, which gives each of its calls a timeout. */
  readonly interceptorOf = (method: string): StoreStepInterceptor =>
    UNTIMED_METHODS.has(method) ? (step) => step() : (step) => this.run(async () => step());

  /**
   * Runs a step within its timeout.
   * @throws StoreUnavailableError when there is no response in time; any error of the step.
   */
  run<T>(step: () => Promise<T>): Promise<T> {
    const { name, timeoutMs, timeoutWhenSilentMs } = this.#options;
    const limitMs = this.#isSilent ? timeoutWhenSilentMs : timeoutMs;
    return new Promise<T>((resolve, reject) => {
      let isAnswered = false;
      const giveUp = () => {
        if (isAnswered) return;
        this.#isSilent = true;
        reject(new StoreUnavailableError(`${name} did not answer within ${limitMs} ms.`));
      };
      // A process that had no CPU may not have read the response yet, so its input is read before the step fails.
      const timer = setTimeout(() => setImmediate(giveUp), limitMs);
      this.#runAndRecordSilence(step)
        .then(resolve, reject)
        .finally(() => {
          isAnswered = true;
          clearTimeout(timer);
        });
    });
  }

  async #runAndRecordSilence<T>(step: () => Promise<T>): Promise<T> {
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
