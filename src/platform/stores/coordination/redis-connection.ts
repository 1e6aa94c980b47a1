import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailableError } from '../documents/port.ts';

/** The names of the scripts in `lua/`, without the extension. */
const SCRIPT_NAMES = [
  'admit',
  'strike',
  'give-back-strike',
  'take-shared',
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

export type RedisScriptName = (typeof SCRIPT_NAMES)[number];

/**
 * Reads the scripts for ioredis. It sends only the hash of a script, and the whole script to a server that does not
 * have it. Each call passes its number of keys.
 */
function readScripts(): Record<string, { lua: string }> {
  return Object.fromEntries(
    SCRIPT_NAMES.map((name) => [
      name,
      { lua: readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8') },
    ]),
  );
}

const RECONNECT_DELAY_MS = 100;
/**
 * The pause between two attempts of a command. It is needed because the client reports a connection as ready for a
 * moment after it broke.
 */
const COMMAND_RETRY_DELAY_MS = 10;

/**
 * The codes of replies of a server that cannot run any command at present: it starts, has no memory or disk, is a
 * replica, or must be set up otherwise. Before Redis 7, the code of a command in a script is inside of the message.
 */
const UNAVAILABLE_REPLY_PATTERN =
  /\b(?:BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOAUTH|NOPERM|NOREPLICAS|OOM|READONLY|TRYAGAIN|WRONGPASS)\b/;

export type RedisArgument = string | number;

/**
 * A connection that reconnects by itself. A command waits while the connection is down, and is sent again when the
 * connection breaks, until `deadlineMs` has passed. After that it rejects with StoreUnavailableError. A command may
 * therefore run twice, which all scripts tolerate (a rate window may count one request too many).
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
      scripts: readScripts(),
      enableOfflineQueue: false,
      // Rejects running commands as soon as the connection closes, so that `run` can send them again.
      maxRetriesPerRequest: 0,
      retryStrategy: () => RECONNECT_DELAY_MS,
      connectTimeout: deadlineMs,
      commandTimeout: deadlineMs,
      // When the server stops responding, the connection is closed and opened again.
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

  /**
   * Runs a command within the deadline. An attempt that is under way at the deadline may still finish.
   * @throws StoreUnavailableError; the server's own error if it refuses the command, which is a bug of this program.
   */
  async run<T>(command: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#deadlineMs;
    for (;;) {
      await this.#waitUntilReady(deadline);
      try {
        return await command();
      } catch (error) {
        const isReply = error instanceof Error && error.name === 'ReplyError';
        if (isReply && !UNAVAILABLE_REPLY_PATTERN.test(error.message)) throw error;
        if (isReply || performance.now() >= deadline) throw unavailableError(error);
      }
      await pause(COMMAND_RETRY_DELAY_MS);
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

  #waitUntilReady(deadline: number): Promise<void> {
    if (this.client.status === 'ready') return Promise.resolve();
    if (this.client.status === 'end')
      return Promise.reject(unavailableError(new Error('The connection was closed.')));
    return new Promise((resolve, reject) => {
      const onReady = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(
        () => {
          this.client.off('ready', onReady);
          reject(unavailableError(this.#lastError));
        },
        Math.max(0, deadline - performance.now()),
      );
      this.client.once('ready', onReady);
    });
  }
}

function unavailableError(cause: unknown): StoreUnavailableError {
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return new StoreUnavailableError(`A command of Redis failed${reason}.`, { cause });
}

const SERVER_CHECK_TIMEOUT_MS = 5_000;
/** The remedy for a server that does not respond, or refuses the password. */
export const REDIS_CONNECTION_REMEDY =
  'Check REDIS_URL (redis:// without TLS, rediss:// with it), its password, and that the network lets this host through.';

/** A fault of the server at REDIS_URL that makes coordination impossible. */
interface RedisFault {
  message: string;
  remedy: string;
}

/**
 * Checks over a separate connection whether the server at REDIS_URL can coordinate hosts.
 * @throws Error with two sentences when it cannot; StoreUnavailableError when it does not respond.
 */
export async function verifyRedis(url: string): Promise<void> {
  const fault = await withRedisClient(url, findRedisFault);
  if (fault !== null) throw new Error(`${fault.message} ${fault.remedy}`);
}

/**
 * Opens a connection that does not reconnect, for one check.
 * @throws StoreUnavailableError with the reason of the socket.
 */
export async function withRedisClient<T>(url: string, ask: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: SERVER_CHECK_TIMEOUT_MS,
    commandTimeout: SERVER_CHECK_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // `connect` rejects only with "Connection is closed". The reason is in the error of the socket.
  let lastError: Error | undefined;
  client.on('error', (error) => {
    lastError = error;
  });
  try {
    await client.connect().catch((error) => {
      const cause = lastError ?? error;
      const reason = cause.message.replace(/\.$/, '');
      throw new StoreUnavailableError(`Redis does not answer: ${reason}. ${REDIS_CONNECTION_REMEDY}`, {
        cause,
      });
    });
    return await ask(client);
  } finally {
    client.disconnect();
  }
}

/**
 * The first fault of a connected server; null when there is none. The database is selected here once more, because the
 * client silently continues with database 0 if the server refuses the number in the URL.
 */
export async function findRedisFault(client: Redis): Promise<RedisFault | null> {
  const { db } = client.options;
  const refusal = await client.call('SELECT', String(db ?? 0)).then(
    () => null,
    (error: Error) => error.message,
  );
  const info = await client.info();
  if (/^cluster_enabled:1/m.test(info))
    return {
      message: 'REDIS_URL leads to a Redis Cluster, which keeps the keys of one command on several servers.',
      remedy: 'Name a single server, or one primary with replicas.',
    };
  if (refusal !== null)
    return {
      message: `REDIS_URL names the database ${db}, which this Redis does not have (${refusal}).`,
      remedy: 'Name one that it has: 0 to 15 unless its setting `databases` was changed.',
    };
  if (/^role:slave/m.test(info))
    return {
      message: 'REDIS_URL leads to a replica, which takes no writes.',
      remedy: 'Name its primary, or an address that follows it.',
    };
  return null;
}
