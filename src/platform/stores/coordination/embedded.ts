import type { Documents } from '../documents/port.ts';
import { DueSet } from './due-set.ts';
import { ExpiringMap } from './expiring-map.ts';
import { IdempotencyRecords } from './idempotency-records.ts';
import { type ListenerLog, Listeners } from './listeners.ts';
import type {
  AdmitAnswer,
  AdmitQuestion,
  Coordination,
  Due,
  DueClaims,
  IdempotencyAnswer,
  RateAnswer,
  RateQuestion,
  SharedSlotQuestion,
  StoredResponse,
} from './port.ts';
import { Slots } from './slots.ts';
import { Windows } from './windows.ts';

/** The share of the requests left in a window that a process may count in advance. */
const LEFT_TO_AHEAD = 1_000;

/** Passes a message on; returns the number of receiving processes. */
type Observer = (channel: string, message: string) => number;

/**
 * Coordination of one host in the memory of its primary. Steps are atomic because they run in one turn of the event
 * loop, so `admit` must not await. Everything except for the idempotency records is lost with a restart.
 */
export class EmbeddedCoordination implements Coordination {
  readonly #now: () => number;
  readonly #rates: Windows;
  readonly #strikes: Windows;
  readonly #marks: ExpiringMap<true>;
  readonly #slots: Slots;
  readonly #leases: ExpiringMap<string>;
  readonly #dueSets = new Map<string, DueSet>();
  readonly #idempotency: IdempotencyRecords;
  readonly #listeners: Listeners;
  readonly #observers = new Set<Observer>();

  /** `now` answers epoch milliseconds. */
  static async open(
    documents: Documents,
    now: () => number = Date.now,
    log?: ListenerLog,
  ): Promise<EmbeddedCoordination> {
    return new EmbeddedCoordination(await IdempotencyRecords.open(documents, now), now, log);
  }

  private constructor(idempotency: IdempotencyRecords, now: () => number, log?: ListenerLog) {
    this.#listeners = new Listeners(log);
    this.#idempotency = idempotency;
    this.#now = now;
    this.#rates = new Windows(now);
    this.#strikes = new Windows(now);
    this.#marks = new ExpiringMap(now);
    this.#slots = new Slots(now);
    this.#leases = new ExpiringMap(now);
  }

  async admit({ returned = [], blocked, marked, rate, slot }: AdmitQuestion): Promise<AdmitAnswer> {
    for (const { key, holder } of returned) this.#slots.release(key, holder);
    const refused = { blockedMs: 0, marked: false, rate: null, slot: false };
    if (blocked !== undefined && this.#strikes.count(blocked.key) >= blocked.limit) {
      return { ...refused, blockedMs: Math.max(this.#strikes.leftMs(blocked.key), 1) };
    }
    if (marked !== undefined && this.#marks.get(marked)) return { ...refused, marked: true };
    const rateAnswer = rate === undefined ? null : this.#countRequest(rate);
    if (rateAnswer?.allowed === false) return { ...refused, rate: rateAnswer };
    return { ...refused, rate: rateAnswer, slot: slot === undefined || this.#slots.take(slot) };
  }

  async strike(key: string, windowMs: number): Promise<{ count: number; resetMs: number }> {
    return { count: this.#strikes.increment(key, windowMs), resetMs: this.#strikes.leftMs(key) };
  }

  async giveBackStrike(key: string): Promise<void> {
    this.#strikes.decrement(key);
  }

  async mark(key: string, lifeMs: number): Promise<void> {
    this.#marks.set(key, true, this.#now() + lifeMs);
  }

  async takeShared(question: SharedSlotQuestion): Promise<boolean> {
    return this.#slots.takeShared(question);
  }

  async releaseSlot(key: string, holder: string): Promise<void> {
    this.#slots.release(key, holder);
  }

  async renewSlot(key: string, holder: string, leaseMs: number): Promise<boolean> {
    return this.#slots.renew(key, holder, leaseMs);
  }

  async releaseSlotsOf(prefix: string): Promise<void> {
    this.#slots.releaseOf(prefix);
  }

  beginIdempotent(
    key: string,
    fingerprint: string | null,
    pendingMs: number,
    keepMs: number,
  ): Promise<IdempotencyAnswer> {
    return this.#idempotency.begin(key, fingerprint, pendingMs, keepMs);
  }

  keepIdempotent(key: string, token: string, response: StoredResponse | null): Promise<void> {
    return this.#idempotency.keep(key, token, response);
  }

  forgetIdempotent(key: string, token: string): Promise<void> {
    return this.#idempotency.forget(key, token);
  }

  async lease(name: string, owner: string, leaseMs: number): Promise<boolean> {
    if ((this.#leases.get(name) ?? owner) !== owner) return false;
    this.#leases.set(name, owner, this.#now() + leaseMs);
    return true;
  }

  async endLease(name: string, owner: string): Promise<void> {
    if (this.#leases.get(name) === owner) this.#leases.delete(name);
  }

  async schedule(key: string, dues: readonly Due[]): Promise<void> {
    const set = this.#dueSet(key);
    for (const { member, afterMs } of dues) set.schedule(member, afterMs);
  }

  async claimDue(key: string, limit: number, leaseMs: number, holder: string): Promise<DueClaims> {
    return this.#dueSet(key).claim(limit, leaseMs, holder);
  }

  async renewDue(key: string, member: string, holder: string, leaseMs: number): Promise<boolean> {
    return this.#dueSet(key).renew(member, holder, leaseMs);
  }

  async settleDue(
    key: string,
    member: string,
    holder: string,
    afterMs: number | null,
  ): Promise<number | null> {
    return this.#dueSet(key).settle(member, holder, afterMs);
  }

  async releaseDueOf(key: string, prefix: string): Promise<void> {
    this.#dueSet(key).releaseOf(prefix);
  }

  async publish(channel: string, message: string): Promise<number> {
    let processes = this.#listeners.deliver(channel, message) ? 1 : 0;
    for (const observer of this.#observers) processes += observer(channel, message);
    return processes;
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => void> {
    return this.#listeners.add(channel, listener);
  }

  /**
   * Registers a listener for the messages of all channels, which passes them on to other processes and returns their
   * number.
   */
  observe(observer: Observer): void {
    this.#observers.add(observer);
  }

  async time(): Promise<number> {
    return this.#now();
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    await this.#idempotency.close();
  }

  /** The members by key. Keys are few and known, so none is ever removed. */
  #dueSet(key: string): DueSet {
    const set = this.#dueSets.get(key) ?? new DueSet(this.#now);
    this.#dueSets.set(key, set);
    return set;
  }

  #countRequest({ key, limit, windowMs, ahead: wanted = 0 }: RateQuestion): RateAnswer {
    const left = limit - this.#rates.count(key);
    if (left <= 0) {
      return { allowed: false, remaining: 0, ahead: 0, resetMs: Math.max(this.#rates.leftMs(key), 1) };
    }
    const ahead = Math.min(wanted, Math.floor(left / LEFT_TO_AHEAD));
    const remaining = limit - this.#rates.increment(key, windowMs, 1 + ahead);
    return { allowed: true, remaining, ahead, resetMs: this.#rates.leftMs(key) };
  }
}
