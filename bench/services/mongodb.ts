import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { MongoBinary, MongoMemoryServer } from 'mongodb-memory-server-core';
import { startMongoJavaServer } from './mongo-java-server/start.ts';
import { CACHE, type TestServer } from './server.ts';

const DOWNLOAD_TIMEOUT_MS = 120_000;

/**
 * A MongoDB to test against: the one of MONGODB_URL, else a mongod that is installed or can be downloaded, else a
 * server in Java. Null, with a message on stderr, when none can run. If CI is true, that is an error instead, because
 * CI skips nothing.
 */
export async function startMongo(): Promise<TestServer | null> {
  const { MONGODB_URL, CI } = process.env;
  if (MONGODB_URL) return { url: MONGODB_URL, async stop() {} };
  const failures: string[] = [];
  for (const start of [startMongod, startMongoJavaServer]) {
    try {
      return await start();
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  const sentence = `No MongoDB can run here, its tests are SKIPPED. Tried: ${failures.join('; ')}`;
  if (CI === 'true') throw new Error(sentence);
  console.error(sentence);
  return null;
}

async function startMongod(): Promise<TestServer> {
  // The download is not retried, so that it fails at once in a network that does not allow it.
  process.env.MONGOMS_MAX_RETRIES ??= '0';
  const binary = MongoBinary.getPath({ downloadDir: CACHE });
  const late = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const timedOut = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error('mongod could not be fetched in time')));
  });
  const systemBinary = await Promise.race([binary, timedOut]);
  const server = await MongoMemoryServer.create({ binary: { systemBinary } });
  return { url: server.getUri(), stop: async () => void (await server.stop()) };
}

/** The URL of a new database on a server, so that tests do not share one. Drop it with `dropDatabase`. */
export function randomDatabase(serverUrl: string): string {
  const [, server, query = ''] = /^([a-z+]+:\/\/[^/?]+)[^?]*(\?.*)?$/.exec(serverUrl) ?? [];
  if (server === undefined) throw new Error(`${serverUrl} is no URL of MongoDB's.`);
  return `${server}/darkroom_test_${randomUUID().slice(0, 8)}${query}`;
}

export async function dropDatabase(url: string): Promise<void> {
  const client = new MongoClient(url);
  await client.db().dropDatabase();
  await client.close();
}
