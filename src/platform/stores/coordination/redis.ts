import { randomText } from '../../ids/ids.ts';
import { DAY_MS } from '../../values/units.ts';
import { type ListenerLog, Listeners } from './listeners.ts';
import type { Coordination, StoredResponse } from './port.ts';
import { type Argument, RedisConnection, type ScriptName } from './redis-connection.ts';

const SCAN_COUNT = 1000;
const TOKEN_CHARACTERS = 16;
/** Lifetime of a due set after its last write, which is longer than any of its members waits. */
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
export function connectRedisCoordination({
  url,
  keyPrefix,
  deadlineMs = 3000,
  log,
}: RedisCoordinationOptions): Coordination {
  const commands = new RedisConnection(url, deadlineMs);
  const { client } = commands;
  /**
   * The connection for subscriptions, which cannot be used for commands. It renews its subscriptions when it
   * reconnects.
   */
  const subscriber = new RedisConnection(url, deadlineMs);
  const listeners = new Listeners(log);
  subscriber.client.on('message', (name: string, message: string) => {
    listeners.deliver(name, message);
  });

  const keyOf = (kind: string, name = '') => `${keyPrefix}${kind}:${name}`;
  const dueKeys = (key: string) => ['due', 'due-claims', 'due-asked'].map((kind) => keyOf(kind, key));
  /** All databases of a Redis server share its channels, so the names contain the database. */
  const channelOf = (name: string) => keyOf(`channel@${client.options.db ?? 0}`, name);

  /** Runs a script on the key of this kind and name. */
  function ask(script: ScriptName, kind: string, name: string, ...args: Argument[]): Promise<unknown> {
    return commands.script(script, [keyOf(kind, name)], args);
  }

  return {
    async admit({ returned = [], blocked, flag, rate, slot }) {
      const answer = await commands.script(
        'admit',
        [
          keyOf('strikes', blocked?.key),
          keyOf('marks', flag),
          keyOf('rate', rate?.key),
          keyOf('slots', slot?.key),
          ...returned.map(({ key }) => keyOf('slots', key)),
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
    },
    async strike(key, windowMs) {
      const [count, resetMs] = (await ask('strike', 'strikes', key, windowMs)) as [number, number];
      return { count, resetMs };
    },
    async giveBackStrike(key) {
      await ask('give-back-strike', 'strikes', key);
    },
    async setFlag(key, lifeMs) {
      await commands.run(() => client.set(keyOf('marks', key), 1, 'PX', lifeMs));
    },
    async takeShared({ key, limit, holder, leaseMs, seenMs, waitMs }) {
      const keys = ['slots', 'slot-owners', 'slot-waiters'].map((kind) => keyOf(kind, key));
      return (await commands.script('take-shared', keys, [limit, holder, leaseMs, seenMs, waitMs])) === 1;
    },
    async releaseSlot(key, holder) {
      await ask('release-slot', 'slots', key, holder);
    },
    async renewSlot(key, holder, leaseMs) {
      return (await ask('renew-slot', 'slots', key, holder, leaseMs)) === 1;
    },
    /** Walks the whole key space in small steps, which is acceptable for the rare death of a process. */
    async releaseSlotsByPrefix(prefix) {
      let cursor = '0';
      do {
        const [next, keys] = await commands.run(() =>
          client.scan(cursor, 'MATCH', keyOf('slots', '*'), 'COUNT', SCAN_COUNT),
        );
        await Promise.all(keys.map((key) => commands.script('release-slots-of', [key], [prefix])));
        cursor = next;
      } while (cursor !== '0');
    },
    async beginIdempotent(key, fingerprint, pendingMs, keepMs) {
      const token = randomText(TOKEN_CHARACTERS);
      const answer = await ask(
        'begin-idempotent',
        'idempotency',
        key,
        token,
        fingerprint ?? '',
        pendingMs,
        keepMs,
      );
      const [state, response] = answer as ['new' | 'running' | 'reused'] | ['replay', string];
      if (state === 'new') return { state, token };
      if (state === 'replay') return { state, response: JSON.parse(response) as StoredResponse };
      return { state };
    },
    async keepIdempotent(key, token, response) {
      const kept = response === null ? '' : JSON.stringify(response);
      await ask('keep-idempotent', 'idempotency', key, token, kept);
    },
    async forgetIdempotent(key, token) {
      await ask('forget-idempotent', 'idempotency', key, token);
    },
    async lease(name, owner, leaseMs) {
      return (await ask('lease', 'leases', name, owner, leaseMs)) === 1;
    },
    async endLease(name, owner) {
      await ask('end-lease', 'leases', name, owner);
    },
    async schedule(key, dues) {
      const pairs = dues.flatMap(({ member, afterMs }) => [member, Math.round(afterMs)]);
      await commands.script('schedule-due', dueKeys(key), [DUE_SET_LIFE_MS, ...pairs]);
    },
    async claimDue(key, limit, leaseMs, holder) {
      const args = [limit, leaseMs, holder, DUE_SET_LIFE_MS];
      const answer = await commands.script('claim-due', dueKeys(key), args);
      const [nextInMs, ...members] = answer as [number, ...string[]];
      return { members, nextInMs: nextInMs === -1 ? null : nextInMs };
    },
    async renewDue(key, member, holder, leaseMs) {
      const args = [member, holder, leaseMs, DUE_SET_LIFE_MS];
      return (await commands.script('renew-due', dueKeys(key), args)) === 1;
    },
    async settleDue(key, member, holder, afterMs) {
      const nextMs = afterMs === null ? -1 : Math.max(Math.round(afterMs), 0);
      const args = [member, holder, nextMs, DUE_SET_LIFE_MS];
      const dueInMs = (await commands.script('settle-due', dueKeys(key), args)) as number;
      return dueInMs === -1 ? null : dueInMs;
    },
    async releaseDueByPrefix(key, prefix) {
      await commands.script('release-due-of', dueKeys(key), [prefix]);
    },
    publish: (channel, message) => commands.run(() => client.publish(channelOf(channel), message)),
    async subscribe(channel, listener) {
      const name = channelOf(channel);
      const remove = listeners.add(name, listener);
      const end = () => {
        // After a failure, messages are received unnecessarily until the next reconnection.
        if (remove()) subscriber.client.unsubscribe(name).catch(() => undefined);
      };
      try {
        // This is done even if the channel has listeners, because the earlier subscription may not be confirmed yet.
        await subscriber.run(() => subscriber.client.subscribe(name));
      } catch (error) {
        end();
        throw error;
      }
      return end;
    },
    async time() {
      const [seconds, microseconds] = await commands.run(() => client.time());
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    },
    async ping() {
      await commands.run(() => client.ping());
    },
    async close() {
      await Promise.all([commands.close(), subscriber.close()]);
    },
  };
}
