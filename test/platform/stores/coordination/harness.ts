import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Coordination } from '../../../../src/platform/stores/coordination/port.ts';

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;
/** Short enough to wait for, where the clock is the server's. */
export const SHORT_MS = 50;
const POLLS = 500;

export interface CoordinationHarness {
  /** Another connection to the same store, as another process has it. */
  connect(): Promise<Coordination>;
  /** Moves the store's clock, if it can be moved; the tests poll for what the passing of time brings. */
  elapse(ms: number): void;
}

/** How a contract opens the store that it tests. */
export type Open = (t: Test) => Promise<CoordinationHarness>;

/** Asks until the answer is truthy, for as long as a busy machine may take; answers the last answer. */
export async function until<T>(ask: () => Promise<T>): Promise<T> {
  for (let poll = 1; poll < POLLS; poll++) {
    const answer = await ask();
    if (answer) return answer;
    await pause(SHORT_MS / 5);
  }
  return ask();
}

/** Begins under a key that is free; answers the token. */
export async function begun(store: Coordination, key: string, fingerprint: string | null): Promise<string> {
  const answer = await store.beginIdempotent(key, fingerprint, MINUTE_MS, DAY_MS);
  if (answer.state !== 'new') throw new Error(`The key is ${answer.state}, where new is expected.`);
  return answer.token;
}

export async function opened(t: Test, open: Open) {
  const harness = await open(t);
  return { ...harness, store: await harness.connect() };
}

export function takerOf(store: Coordination, key: string, limit: number, leaseMs = MINUTE_MS) {
  return async (holder: string) => (await store.admit({ slot: { key, limit, holder, leaseMs } })).slot;
}

export function pick(stores: readonly Coordination[], i: number): Coordination {
  const store = stores[i % stores.length];
  if (store === undefined) throw new Error('There is no store.');
  return store;
}
