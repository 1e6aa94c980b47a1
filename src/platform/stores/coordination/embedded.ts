import type { Documents } from '../documents/port.ts';
import { DueSet } from './due-set.ts';
import { ExpiringMap } from './expiring-map.ts';
import { openIdempotencyRecords } from './idempotency-records.ts';
import { type ListenerLog, Listeners } from './listeners.ts';
import type { Coordination, RateAnswer, RateRequest } from './port.ts';
import { LeasedSlots } from './slots.ts';

/** The remaining requests of a window for each one that a process may count in advance. */
const REMAINING_PER_AHEAD = 1_000;

export interface EmbeddedCoordination extends Coordination {
  /** Passes the messages of all channels on to other processes; `pass` returns the number of receiving processes. */
  observe(pass: (channel: string, message: string) => number): void;
}

/**
 * Coordination of one host in the memory of its primary. Steps are atomic because they run in one turn of the event
 * loop, so `admit` must not await. Everything except for the idempotency records is lost with a restart.
 * @param now returns epoch milliseconds.
 */
export async function openEmbeddedCoordination(
  documents: Documents,
  now: () => number = Date.now,
  log?: ListenerLog,
): Promise<EmbeddedCoordination> {
  const idempotency = await openIdempotencyRecords(documents, now);
  const rates = new Windows(now);
  const strikes = new Windows(now);
  const flags = new ExpiringMap<true>(now);
  const slots = new LeasedSlots(now);
  const leases = new ExpiringMap<string>(now);
  const dueSets = new Map<string, DueSet>();
  const listeners = new Listeners(log);
  const observers: Array<(channel: string, message: string) => number> = [];

  function countRequest({ key, limit, windowMs, ahead: requested = 0 }: RateRequest): RateAnswer {
    const left = limit - rates.count(key);
    if (left <= 0) return { allowed: false, remaining: 0, ahead: 0, resetMs: Math.max(rates.leftMs(key), 1) };
    const ahead = Math.min(requested, Math.floor(left / REMAINING_PER_AHEAD));
    const remaining = limit - rates.increment(key, windowMs, 1 + ahead);
    return { allowed: true, remaining, ahead, resetMs: rates.leftMs(key) };
  }

  /** The members by key. Keys are few and known, so none is ever removed. */
  function dueSet(key: string): DueSet {
    const set = dueSets.get(key) ?? new DueSet(now);
    dueSets.set(key, set);
    return set;
  }

  return {
    ...idempotency,
    async admit({ returned = [], blocked, flag, rate, slot }) {
      for (const { key, holder } of returned) slots.release(key, holder);
      const refused = { blockedMs: 0, flagged: false, rate: null, slot: false };
      if (blocked !== undefined && strikes.count(blocked.key) >= blocked.limit) {
        return { ...refused, blockedMs: Math.max(strikes.leftMs(blocked.key), 1) };
      }
      if (flag !== undefined && flags.get(flag)) return { ...refused, flagged: true };
      const rateAnswer = rate === undefined ? null : countRequest(rate);
      if (rateAnswer?.allowed === false) return { ...refused, rate: rateAnswer };
      return { ...refused, rate: rateAnswer, slot: slot === undefined || slots.take(slot) };
    },
    strike: async (key, windowMs) => ({
      count: strikes.increment(key, windowMs),
      resetMs: strikes.leftMs(key),
    }),
    giveBackStrike: async (key) => strikes.decrement(key),
    setFlag: async (key, lifeMs) => flags.set(key, true, now() + lifeMs),
    takeShared: async (request) => slots.takeShared(request),
    releaseSlot: async (key, holder) => slots.release(key, holder),
    renewSlot: async (key, holder, leaseMs) => slots.renew(key, holder, leaseMs),
    releaseSlotsByPrefix: async (prefix) => slots.releaseOf(prefix),
    async lease(name, owner, leaseMs) {
      if ((leases.get(name) ?? owner) !== owner) return false;
      leases.set(name, owner, now() + leaseMs);
      return true;
    },
    async endLease(name, owner) {
      if (leases.get(name) === owner) leases.delete(name);
    },
    async schedule(key, dues) {
      const set = dueSet(key);
      for (const { member, afterMs } of dues) set.schedule(member, afterMs);
    },
    claimDue: async (key, ...claim) => dueSet(key).claim(...claim),
    renewDue: async (key, ...claim) => dueSet(key).renew(...claim),
    settleDue: async (key, ...claim) => dueSet(key).settle(...claim),
    releaseDueByPrefix: async (key, prefix) => dueSet(key).releaseOf(prefix),
    async publish(channel, message) {
      let processes = listeners.deliver(channel, message) ? 1 : 0;
      for (const pass of observers) processes += pass(channel, message);
      return processes;
    },
    subscribe: async (channel, listener) => listeners.add(channel, listener),
    observe(pass) {
      observers.push(pass);
    },
    time: async () => now(),
    async ping() {},
  };
}

/** Counts by key, each in a window that starts with the first count and ends by itself. */
class Windows {
  readonly #now: () => number;
  readonly #counts: ExpiringMap<number>;

  constructor(now: () => number) {
    this.#now = now;
    this.#counts = new ExpiringMap<number>(now);
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Milliseconds until the window ends; 0 when it has not started. */
  leftMs(key: string): number {
    return this.#counts.leftMs(key);
  }

  /** Adds to the count of a window and returns the new count. */
  increment(key: string, windowMs: number, by = 1): number {
    const increased = this.count(key) + by;
    this.#counts.set(key, increased, this.#now() + (this.#counts.leftMs(key) || windowMs));
    return increased;
  }

  /** Subtracts one; an empty or ended window stays unchanged. */
  decrement(key: string): void {
    if (this.count(key) > 0)
      this.#counts.set(key, this.count(key) - 1, this.#now() + this.#counts.leftMs(key));
  }
}
