import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailableError } from '../documents/port.ts';

/** Every script of `lua/`, by its file's name. */
const NAMES = [
  'admit',
  'strike',
  'give-back-strike',
  'take-shared',
  'release-slot',
  'renew-slot',
  'release-slots-of',
  'begin-idempotent',
  'keep-idempotent',
  'forget-idempotent',
  'lease',
  'end-lease',
  'schedule-due',
  'claim-due',
  'renew-due',
  'settle-due',
  'release-due-of',
] as const;

export type RedisScriptName = (typeof NAMES)[number];

/**
 * The scripts for ioredis, which sends their hash, and the whole script to a server that does not have it. Each call
 * passes its number of keys.
 */
function loadScripts(): Record<string, { lua: string }> {
  return Object.fromEntries(
    NAMES.map((name) => [name, { lua: readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8') }]),
  );
}

const RECONNECT_DELAY_MS = 100;
/**
 * The pause between two attempts of a command. It is needed because the client reports a connection as ready for a
 * moment after it broke.
 */
const RETRY_DELAY_MS = 10;

export type RedisArgument = string | number;

/**
 * A connection that reconnects by itself. A command waits while the connection is down, and is sent again when the
 * connection breaks, until `deadlineMs` has passed; then it rejects with StoreUnavailableError. So a command may run
 * twice, which all scripts tolerate (a rate window may count one request too many).
 *
 * The client's own offline queue is disabled: it would send commands whose callers have given up, and would grow during
 * an outage.
 */
export class RedisConnection {
  readonly client: Redis;
  readonly #scripts: Record<RedisScriptName, (...args: RedisArgument[]) => Promise<unknown>>;
  readonly #deadlineMs: number;
  #lastError: unknown;

  constructor(url: string, deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
    this.client = new Redis(url, {
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
    this.client.setMaxListeners(0);
    this.client.on('error', (error) => {
      this.#lastError = error;
    });
    this.#scripts = this.client as unknown as Record<
      RedisScriptName,
      (...args: RedisArgument[]) => Promise<unknown>
    >;
  }

  /** Runs a command within the deadline. An attempt that is under way at the deadline may still finish. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#deadlineMs;
    for (;;) {
      await this.#ready(deadline);
      try {
        return await command();
      } catch (error) {
        const answered = error instanceof Error && error.name === 'ReplyError';
        if (answered || performance.now() >= deadline) throw unavailable(error);
      }
      await pause(RETRY_DELAY_MS);
    }
  }

  /** Runs one script of `lua/`. */
  script(name: RedisScriptName, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    return this.run(() => this.#scripts[name](keys.length, ...keys, ...args));
  }

  async close(): Promise<void> {
    if (this.client.status === 'ready') await this.client.quit().catch(() => this.client.disconnect());
    else this.client.disconnect();
  }

  #ready(deadline: number): Promise<void> {
    if (this.client.status === 'ready') return Promise.resolve();
    if (this.client.status === 'end')
      return Promise.reject(unavailable(new Error('The connection was closed.')));
    return new Promise((resolve, reject) => {
      const onReady = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(
        () => {
          this.client.off('ready', onReady);
          reject(unavailable(this.#lastError));
        },
        Math.max(0, deadline - performance.now()),
      );
      this.client.once('ready', onReady);
    });
  }
}

function unavailable(cause: unknown): StoreUnavailableError {
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return new StoreUnavailableError(`A command of Redis failed${reason}.`, { cause });
}
