import { Redis } from 'ioredis';
import { StoreUnavailableError } from '../documents/port.ts';

const ANSWER_TIMEOUT_MS = 5_000;

/** A fault of the server of REDIS_URL that makes coordination impossible. */
export interface RedisFault {
  message: string;
  remedy: string;
}

/**
 * Tests over a separate connection whether the server of REDIS_URL can coordinate hosts.
 * @throws Error with two sentences when it cannot; StoreUnavailableError when it does not respond.
 */
export async function verifyRedis(url: string): Promise<void> {
  const fault = await askRedis(url, findRedisFault);
  if (fault !== null) throw new Error(`${fault.message} ${fault.remedy}`);
}

/**
 * Opens a connection that does not reconnect, for one check.
 * @throws StoreUnavailableError with the reason of the socket.
 */
export async function askRedis<T>(url: string, ask: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: ANSWER_TIMEOUT_MS,
    commandTimeout: ANSWER_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // The error of the socket: `connect` rejects only with "Connection is closed".
  let lastError: unknown;
  client.on('error', (error) => {
    lastError = error;
  });
  try {
    await client.connect().catch((error) => {
      const cause = lastError ?? error;
      throw new StoreUnavailableError(`Redis does not answer: ${cause.message}.`, { cause });
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
