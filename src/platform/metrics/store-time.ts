import { AsyncLocalStorage } from 'node:async_hooks';

/** The time in which a request waits for stores. Queries that run side by side count once. */
export interface StoreTime {
  began(): void;
  ended(): void;
  /** Seconds up to now. */
  seconds(): number;
}

const current = new AsyncLocalStorage<StoreTime>();

export function createStoreTime(nowMs: () => number = () => performance.now()): StoreTime {
  let running = 0;
  let sinceMs = 0;
  let totalMs = 0;
  return {
    began() {
      if (running === 0) sinceMs = nowMs();
      running += 1;
    },
    ended() {
      running -= 1;
      if (running === 0) totalMs += nowMs() - sinceMs;
    },
    seconds: () => (totalMs + (running === 0 ? 0 : nowMs() - sinceMs)) / 1_000,
  };
}

/** Runs the callback and everything that follows from it as parts of a request. */
export function withinRequest(time: StoreTime, callback: () => void): void {
  current.run(time, callback);
}

/** The request that the running code is a part of; undefined for sweeps, claims and other work in the background. */
export function storeTimeOfRequest(): StoreTime | undefined {
  return current.getStore();
}
