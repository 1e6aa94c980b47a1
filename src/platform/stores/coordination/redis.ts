import { randomText } from '../../ids/ids.ts';
import { DAY_MS } from '../../values/units.ts';
import { ChannelListeners, type ListenerLog } from './messages.ts';
import type {
  AdmissionAnswer,
  AdmissionRequest,
  Coordination,
  DueClaims,
  DueMember,
  IdempotencyBeginning,
  SharedSlotRequest,
  StoredHttpResponse,
} from './port.ts';
import { type RedisArgument, RedisConnection, type RedisScriptName } from './redis-connection.ts';

const SCAN_BATCH_SIZE = 1000;
const TOKEN_CHARACTERS = 16;
/** The lifetime of a due set after its last write. No member of a set waits longer. */
const DUE_SET_LIFE_MS = DAY_MS;

type AdmitReply = [
  blockedMs: number,
  flagged: number,
  allowed: number,
  remaining: number,
  resetMs: number,
  slot: number,
  ahead: number,
];

interface RedisCoordinationOptions {
  url: string;
  /** The prefix of every key and channel, without glob characters. */
  keyPrefix: string;
  /** How long a command waits for a connection before it rejects with StoreUnavailableError. */
  deadlineMs?: number;
  log?: ListenerLog;
}

/**
 * Coordination of several hosts by a single Redis server. The keys of one script may belong to different cluster slots,
 * so Redis Cluster is not supported.
 */
export class RedisCoordination implements Coordination {
  readonly #keyPrefix: string;
  readonly #commands: RedisConnection;
  /**
   * The connection for subscriptions, which cannot be used for commands. It renews its subscriptions when it
   * reconnects.
   */
  readonly #subscriber: RedisConnection;
  readonly #listeners: ChannelListeners;

  constructor({ url, keyPrefix, deadlineMs = 3000, log }: RedisCoordinationOptions) {
    this.#keyPrefix = keyPrefix;
    this.#commands = new RedisConnection(url, deadlineMs);
    this.#subscriber = new RedisConnection(url, deadlineMs);
    this.#listeners = new ChannelListeners(log);
    this.#subscriber.client.on('message', (name: string, message: string) => {
      this.#listeners.deliver(name, message);
    });
  }

  async admit({ returned = [], blocked, flag, rate, slot }: AdmissionRequest): Promise<AdmissionAnswer> {
    const answer = await this.#commands.script(
      'admit',
      [
        this.#keyOf('strikes', blocked?.key),
        this.#keyOf('marks', flag),
        this.#keyOf('rate', rate?.key),
        this.#keyOf('slots', slot?.key),
        ...returned.map(({ key }) => this.#keyOf('slots', key)),
      ],
      [
        blocked?.limit ?? -1,
        flag === undefined ? 0 : 1,
        rate?.limit ?? -1,
        rate?.windowMs ?? 0,
        rate?.ahead ?? 0,
        slot?.limit ?? -1,
        slot?.holder ?? '',
        slot?.leaseMs ?? 0,
        ...returned.map(({ holder }) => holder),
      ],
    );
    const [blockedMs, flagged, allowed, remaining, resetMs, taken, ahead] = answer as AdmitReply;
    return {
      blockedMs,
      flagged: flagged === 1,
      rate: allowed === -1 ? null : { allowed: allowed === 1, remaining, ahead, resetMs },
      slot: taken === 1,
    };
  }

  async addStrike(key: string, windowMs: number): Promise<{ count: number; resetMs: number }> {
    const [count, resetMs] = (await this.#runOnKey('strike', 'strikes', key, windowMs)) as [number, number];
    return { count, resetMs };
  }

  async withdrawStrike(key: string): Promise<void> {
    await this.#runOnKey('give-back-strike', 'strikes', key);
  }

  async setFlag(key: string, lifeMs: number): Promise<void> {
    const { client } = this.#commands;
    await this.#commands.run(() => client.set(this.#keyOf('marks', key), 1, 'PX', lifeMs));
  }

  async takeShared({ key, limit, holder, leaseMs, seenMs, waitMs }: SharedSlotRequest): Promise<boolean> {
    const keys = ['slots', 'slot-owners', 'slot-waiters'].map((kind) => this.#keyOf(kind, key));
    const args = [limit, holder, leaseMs, seenMs, waitMs];
    return (await this.#commands.script('take-shared', keys, args)) === 1;
  }

  async releaseSlot(key: string, holder: string): Promise<void> {
    const { client } = this.#commands;
    await this.#commands.run(() => client.zrem(this.#keyOf('slots', key), holder));
  }

  async renewSlot(key: string, holder: string, leaseMs: number): Promise<boolean> {
    return (await this.#runOnKey('renew-slot', 'slots', key, holder, leaseMs)) === 1;
  }

  /** Walks the whole key space in small steps, which is acceptable for the rare death of a process. */
  async releaseSlotsByPrefix(prefix: string): Promise<void> {
    let cursor = '0';
    do {
      const [next, keys] = await this.#commands.run(() =>
        this.#commands.client.scan(cursor, 'MATCH', this.#keyOf('slots', '*'), 'COUNT', SCAN_BATCH_SIZE),
      );
      await Promise.all(keys.map((key) => this.#commands.script('release-slots-of', [key], [prefix])));
      cursor = next;
    } while (cursor !== '0');
  }

  async beginIdempotent(
    key: string,
    fingerprint: string | null,
    pendingMs: number,
    keepMs: number,
  ): Promise<IdempotencyBeginning> {
    const token = randomText(TOKEN_CHARACTERS);
    const args = [token, fingerprint ?? '', pendingMs, keepMs];
    const answer = await this.#runOnKey('begin-idempotent', 'idempotency', key, ...args);
    const [state, response] = answer as ['new' | 'running' | 'reused'] | ['replay', string];
    if (state === 'new') return { state, token };
    if (state === 'replay') return { state, response: JSON.parse(response) as StoredHttpResponse };
    return { state };
  }

  async keepIdempotent(key: string, token: string, response: StoredHttpResponse | null): Promise<void> {
    const kept = response === null ? '' : JSON.stringify(response);
    await this.#runOnKey('keep-idempotent', 'idempotency', key, token, kept);
  }

  async forgetIdempotent(key: string, token: string): Promise<void> {
    await this.#runOnKey('forget-idempotent', 'idempotency', key, token);
  }

  async lease(name: string, owner: string, leaseMs: number): Promise<boolean> {
    return (await this.#runOnKey('lease', 'leases', name, owner, leaseMs)) === 1;
  }

  async endLease(name: string, owner: string): Promise<void> {
    await this.#runOnKey('end-lease', 'leases', name, owner);
  }

  async schedule(key: string, dues: readonly DueMember[]): Promise<void> {
    const pairs = dues.flatMap(({ member, afterMs }) => [member, Math.round(afterMs)]);
    await this.#commands.script('schedule-due', this.#dueKeys(key), [DUE_SET_LIFE_MS, ...pairs]);
  }

  async claimDue(key: string, limit: number, leaseMs: number, holder: string): Promise<DueClaims> {
    const args = [limit, leaseMs, holder, DUE_SET_LIFE_MS];
    const answer = await this.#commands.script('claim-due', this.#dueKeys(key), args);
    const [nextInMs, ...members] = answer as [number, ...string[]];
    return { members, nextInMs: nextInMs === -1 ? null : nextInMs };
  }

  async renewDue(key: string, member: string, holder: string, leaseMs: number): Promise<boolean> {
    const args = [member, holder, leaseMs, DUE_SET_LIFE_MS];
    return (await this.#commands.script('renew-due', this.#dueKeys(key), args)) === 1;
  }

  async settleDue(
    key: string,
    member: string,
    holder: string,
    afterMs: number | null,
  ): Promise<number | null> {
    const nextMs = afterMs === null ? -1 : Math.max(Math.round(afterMs), 0);
    const args = [member, holder, nextMs, DUE_SET_LIFE_MS];
    const dueInMs = (await this.#commands.script('settle-due', this.#dueKeys(key), args)) as number;
    return dueInMs === -1 ? null : dueInMs;
  }

  async releaseDueByPrefix(key: string, prefix: string): Promise<void> {
    await this.#commands.script('release-due-of', this.#dueKeys(key), [prefix]);
  }

  publish(channel: string, message: string): Promise<number> {
    const { client } = this.#commands;
    return this.#commands.run(() => client.publish(this.#channelOf(channel), message));
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => void> {
    const name = this.#channelOf(channel);
    const { client } = this.#subscriber;
    const remove = this.#listeners.add(name, listener);
    const end = () => {
      // If this fails, messages are received needlessly until the next reconnection.
      if (remove()) client.unsubscribe(name).catch(() => undefined);
    };
    try {
      // The client subscribes even if the channel has listeners, because the earlier subscription may not be confirmed
      // yet.
      await this.#subscriber.run(() => client.subscribe(name));
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  async time(): Promise<number> {
    const [seconds, microseconds] = await this.#commands.run(() => this.#commands.client.time());
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  }

  async ping(): Promise<void> {
    await this.#commands.run(() => this.#commands.client.ping());
  }

  async close(): Promise<void> {
    await Promise.all([this.#commands.close(), this.#subscriber.close()]);
  }

  #keyOf(kind: string, name = ''): string {
    return `${this.#keyPrefix}${kind}:${name}`;
  }

  #dueKeys(key: string): string[] {
    return ['due', 'due-claims', 'due-asked'].map((kind) => this.#keyOf(kind, key));
  }

  /** All databases of a Redis server share its channels, so the names contain the database. */
  #channelOf(name: string): string {
    return this.#keyOf(`channel@${this.#commands.client.options.db ?? 0}`, name);
  }

  /** Runs a script on the key of this kind and name. */
  #runOnKey(script: RedisScriptName, kind: string, name: string, ...args: RedisArgument[]): Promise<unknown> {
    return this.#commands.script(script, [this.#keyOf(kind, name)], args);
  }
}
