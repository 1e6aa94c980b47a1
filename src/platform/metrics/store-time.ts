import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<StoreTime>();

/** The time that a request waits for stores. Queries that run side by side count once. */
export class StoreTime {
  readonly #nowMs: () => number;
  #running = 0;
  #sinceMs = 0;
  #totalMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  began(): void {
    if (this.#running === 0) this.#sinceMs = this.#nowMs();
    this.#running += 1;
  }

  ended(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#totalMs += this.#nowMs() - this.#sinceMs;
  }

  /** Seconds up to now. */
  seconds(): number {
    return (this.#totalMs + (this.#running === 0 ? 0 : this.#nowMs() - this.#sinceMs)) / 1_000;
  }
}

/** Runs the callback and everything that follows from it as parts of a request. */
export function withinRequest(time: StoreTime, callback: () => void): void {
  current.run(time, callback);
}

/** The request that the running code is a part of; undefined for sweeps, claims and other work in the background. */
export function storeTimeOfRequest(): StoreTime | undefined {
  return current.getStore();
}
