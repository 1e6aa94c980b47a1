import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailableError } from '../documents/port.ts';
import { loadScripts, type ScriptName } from './scripts.ts';

const RECONNECT_DELAY_MS = 100;
/**
 * The pause between two attempts of a command, because the client reports a connection as ready for a moment after it
 * broke.
 */
const RETRY_DELAY_MS = 10;

export type Argument = string | number;

/**
 * A connection that reconnects by itself. A command waits while the connection is down, and is sent again when the
 * connection breaks, until `deadlineMs` has passed; then it rejects with StoreUnavailableError. So a command may run
 * twice, which all scripts tolerate (a rate window may count one request too many).
 *
 * The client's own offline queue is disabled: it would send commands whose callers have given up, and would grow during
 * an outage.
 */
export interface RedisConnection {
  client: Redis;
  /** Runs a command within the deadline (an attempt that is under way at its end may finish). */
  run<T>(command: () => Promise<T>): Promise<T>;
  /** Runs one script of `lua/`. */
  script(name: ScriptName, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  close(): Promise<void>;
}

export function connectRedis(url: string, deadlineMs: number): RedisConnection {
  let lastError: unknown;
  const client = new Redis(url, {
    scripts: loadScripts(),
    enableOfflineQueue: false,
    // Rejects running commands as soon as the connection closes, so that `run` can send them again.
    maxRetriesPerRequest: 0,
    retryStrategy: () => RECONNECT_DELAY_MS,
    connectTimeout: deadlineMs,
    commandTimeout: deadlineMs,
    // A server that stopped responding: the connection is closed and opened again.
    socketTimeout: deadlineMs,
  });
  client.setMaxListeners(0);
  client.on('error', (error) => {
    lastError = error;
  });
  const scripts = client as unknown as Record<ScriptName, (...args: Argument[]) => Promise<unknown>>;

  async function run<T>(command: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + deadlineMs;
    for (;;) {
      await ready(deadline);
      try {
        return await command();
      } catch (error) {
        const answered = error instanceof Error && error.name === 'ReplyError';
        if (answered || performance.now() >= deadline) throw unavailable(error);
      }
      await pause(RETRY_DELAY_MS);
    }
  }

  function ready(deadline: number): Promise<void> {
    if (client.status === 'ready') return Promise.resolve();
    if (client.status === 'end') return Promise.reject(unavailable(new Error('The connection was closed.')));
    return new Promise((resolve, reject) => {
      const onReady = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        client.off('ready', onReady);
        reject(unavailable(lastError));
      }, deadline - performance.now());
      client.once('ready', onReady);
    });
  }

  return {
    client,
    run,
    script: (name, keys, args) => run(() => scripts[name](keys.length, ...keys, ...args)),
    async close() {
      if (client.status === 'ready') await client.quit().catch(() => client.disconnect());
      else client.disconnect();
    },
  };
}

function unavailable(cause: unknown): StoreUnavailableError {
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return new StoreUnavailableError(`A command of Redis failed${reason}.`, { cause });
}
