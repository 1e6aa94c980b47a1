import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

const THREAD_IDLE_TIMEOUT_MS = 60_000;

/** A thread that runs one module. It is started for its first task and stopped after an idle time. */
export class OnDemandThread<T, R> {
  readonly #module: URL;
  readonly #heapMegabytes: number | undefined;
  #pool: Piscina<T, R> | undefined;

  /** @param heapMegabytes memory limit of the thread. A thread that exceeds it is ended together with its task. */
  constructor(module: URL, heapMegabytes?: number) {
    this.#module = module;
    this.#heapMegabytes = heapMegabytes;
  }

  /**
   * Runs a task. Rejects with the signal's reason when the signal aborts; a task that is already running then continues
   * to its end.
   */
  async run(task: T, signal: AbortSignal): Promise<R> {
    this.#pool ??= this.#start();
    return this.#pool.run(task, { signal });
  }

  readonly close = async (): Promise<void> => {
    await this.#pool?.destroy();
  };

  #start(): Piscina<T, R> {
    return new Piscina<T, R>({
      filename: fileURLToPath(this.#module),
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: THREAD_IDLE_TIMEOUT_MS,
      // An idle thread must keep its event loop running, because a reader of text has further worker threads.
      atomics: 'disabled',
      recordTiming: false,
      ...(this.#heapMegabytes !== undefined && {
        resourceLimits: { maxOldGenerationSizeMb: this.#heapMegabytes },
      }),
    });
  }
}
