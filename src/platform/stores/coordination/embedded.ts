import type { DocumentStore } from '../documents/port.ts';
import type { PrimaryChannel, PrimaryChannelHost } from '../embedded/channel.ts';
import { DueMemberSet } from './due-set.ts';
import { CountingWindows, ExpiringMap, LeasedSlots } from './expiring.ts';
import { createIdempotencyRecords } from './idempotency-records.ts';
import { ChannelListeners, type ListenerLog } from './messages.ts';
import type {
  AdmissionAnswer,
  AdmissionRequest,
  Coordination,
  DueClaims,
  DueMember,
  RateWindowAnswer,
  RateWindowRequest,
  SharedSlotRequest,
} from './port.ts';

/** The number of requests that must remain in a window for each request that a process counts in advance. */
const REMAINING_PER_ADVANCE_COUNT = 1_000;

/**
 * Coordination of one host in the memory of its primary. Steps are atomic because each runs in one turn of the event
 * loop, so `admit` must not await. Everything except the idempotency records is lost with a restart.
 */
export class EmbeddedCoordination implements Coordination {
  readonly beginIdempotent: Coordination['beginIdempotent'];
  readonly keepIdempotent: Coordination['keepIdempotent'];
  readonly forgetIdempotent: Coordination['forgetIdempotent'];
  readonly close: Coordination['close'];
  readonly #now: () => number;
  readonly #rates: CountingWindows;
  readonly #strikes: CountingWindows;
  readonly #flags: ExpiringMap<true>;
  readonly #slots: LeasedSlots;
  readonly #leases: ExpiringMap<string>;
  /** Due sets by key. Keys are few and known, so none is ever removed. */
  readonly #dueSets = new Map<string, DueMemberSet>();
  readonly #listeners: ChannelListeners;
  readonly #observers: Array<(channel: string, message: string) => number> = [];

  /** @param now returns epoch milliseconds. */
  constructor(documents: DocumentStore, now: () => number = Date.now, log?: ListenerLog) {
    const idempotency = createIdempotencyRecords(documents, now);
    this.beginIdempotent = idempotency.beginIdempotent;
    this.keepIdempotent = idempotency.keepIdempotent;
    this.forgetIdempotent = idempotency.forgetIdempotent;
    this.close = idempotency.close;
    this.#now = now;
    this.#rates = new CountingWindows(now);
    this.#strikes = new CountingWindows(now);
    this.#flags = new ExpiringMap<true>(now);
    this.#slots = new LeasedSlots(now);
    this.#leases = new ExpiringMap<string>(now);
    this.#listeners = new ChannelListeners(log);
  }

  async admit({ returned = [], blocked, flag, rate, slot }: AdmissionRequest): Promise<AdmissionAnswer> {
    for (const { key, holder } of returned) this.#slots.release(key, holder);
    const refused = { blockedMs: 0, flagged: false, rate: null, slot: false };
    if (blocked !== undefined && this.#strikes.count(blocked.key) >= blocked.limit) {
      return { ...refused, blockedMs: Math.max(this.#strikes.leftMs(blocked.key), 1) };
    }
    if (flag !== undefined && this.#flags.get(flag)) return { ...refused, flagged: true };
    const rateAnswer = rate === undefined ? null : this.#countRequest(rate);
    if (rateAnswer?.allowed === false) return { ...refused, rate: rateAnswer };
    return { ...refused, rate: rateAnswer, slot: slot === undefined || this.#slots.take(slot) };
  }

  async addStrike(key: string, windowMs: number): Promise<{ count: number; resetMs: number }> {
    return { count: this.#strikes.increment(key, windowMs), resetMs: this.#strikes.leftMs(key) };
  }

  async withdrawStrike(key: string): Promise<void> {
    this.#strikes.decrement(key);
  }

  async setFlag(key: string, lifeMs: number): Promise<void> {
    this.#flags.set(key, true, this.#now() + lifeMs);
  }

  async takeShared(request: SharedSlotRequest): Promise<boolean> {
    return this.#slots.takeShared(request);
  }

  async releaseSlot(key: string, holder: string): Promise<void> {
    this.#slots.release(key, holder);
  }

  async renewSlot(key: string, holder: string, leaseMs: number): Promise<boolean> {
    return this.#slots.renew(key, holder, leaseMs);
  }

  async releaseSlotsByPrefix(prefix: string): Promise<void> {
    this.#slots.releaseByPrefix(prefix);
  }

  async lease(name: string, owner: string, leaseMs: number): Promise<boolean> {
    if ((this.#leases.get(name) ?? owner) !== owner) return false;
    this.#leases.set(name, owner, this.#now() + leaseMs);
    return true;
  }

  async endLease(name: string, owner: string): Promise<void> {
    if (this.#leases.get(name) === owner) this.#leases.delete(name);
  }

  async schedule(key: string, dues: readonly DueMember[]): Promise<void> {
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

  async releaseDueByPrefix(key: string, prefix: string): Promise<void> {
    this.#dueSet(key).releaseByPrefix(prefix);
  }

  async publish(channel: string, message: string): Promise<number> {
    let processes = this.#listeners.deliver(channel, message) ? 1 : 0;
    for (const observer of this.#observers) processes += observer(channel, message);
    return processes;
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => void> {
    return this.#listeners.add(channel, listener);
  }

  /** Passes the messages of all channels to other processes. `pass` returns the number of receiving processes. */
  observe(pass: (channel: string, message: string) => number): void {
    this.#observers.push(pass);
  }

  async time(): Promise<number> {
    return this.#now();
  }

  async ping(): Promise<void> {}

  #countRequest({ key, limit, windowMs, ahead: requested = 0 }: RateWindowRequest): RateWindowAnswer {
    const rates = this.#rates;
    const left = limit - rates.count(key);
    if (left <= 0) return { allowed: false, remaining: 0, ahead: 0, resetMs: Math.max(rates.leftMs(key), 1) };
    const ahead = Math.min(requested, Math.floor(left / REMAINING_PER_ADVANCE_COUNT));
    const remaining = limit - rates.increment(key, windowMs, 1 + ahead);
    return { allowed: true, remaining, ahead, resetMs: rates.leftMs(key) };
  }

  #dueSet(key: string): DueMemberSet {
    const set = this.#dueSets.get(key) ?? new DueMemberSet(this.#now);
    this.#dueSets.set(key, set);
    return set;
  }
}

const SERVICE_NAME = 'coordination';

/**
 * The methods that an API process calls in the primary. Subscriptions are local, because every message reaches every
 * process.
 */
const REMOTE_METHODS = [
  'admit',
  'addStrike',
  'withdrawStrike',
  'setFlag',
  'takeShared',
  'releaseSlot',
  'renewSlot',
  'releaseSlotsByPrefix',
  'beginIdempotent',
  'keepIdempotent',
  'forgetIdempotent',
  'lease',
  'endLease',
  'schedule',
  'claimDue',
  'renewDue',
  'settleDue',
  'releaseDueByPrefix',
  'publish',
  'time',
  'ping',
] as const satisfies ReadonlyArray<keyof Coordination>;

type RemoteMethod = (typeof REMOTE_METHODS)[number];

interface ChannelMessage {
  channel: string;
  message: string;
}

/** Coordination in the primary, as an API process uses it. Closing it does not close the primary's coordination. */
export function coordinationOverChannel(channel: PrimaryChannel, log?: ListenerLog): Coordination {
  const listeners = new ChannelListeners(log);
  const unsubscribe = channel.on(SERVICE_NAME, (event) => {
    const { channel: name, message } = event as ChannelMessage;
    listeners.deliver(name, message);
  });
  const methods = Object.fromEntries(
    REMOTE_METHODS.map((method) => [
      method,
      (...args: unknown[]) => channel.call(SERVICE_NAME, method, args),
    ]),
  ) as Pick<Coordination, RemoteMethod>;
  return {
    ...methods,
    async subscribe(name, listener) {
      // The primary sends messages only to processes that have called it, so this process calls it once.
      await methods.ping();
      return listeners.add(name, listener);
    },
    close: async () => unsubscribe(),
  };
}

/** Serves the coordination of the primary to every API process. */
export function provideCoordination(host: PrimaryChannelHost, coordination: EmbeddedCoordination): void {
  host.provide(SERVICE_NAME, async (method, args) => {
    const name = REMOTE_METHODS.find((called) => called === method);
    if (name === undefined) throw new Error(`Coordination has no method ${method}.`);
    const call = coordination[name] as (...args: readonly unknown[]) => Promise<unknown>;
    return call.apply(coordination, [...args]);
  });
  coordination.observe((channel, message) =>
    host.broadcast(SERVICE_NAME, { channel, message } satisfies ChannelMessage),
  );
}
