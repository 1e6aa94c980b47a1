// needs: server, redis, mongodb
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { dropDatabase, randomDatabase } from '../../../bench/services/mongodb.ts';
import { runCommand } from '../../../src/host/admin/commands.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { EmbeddedCoordination } from '../../../src/platform/stores/coordination/embedded.ts';
import { RedisCoordination } from '../../../src/platform/stores/coordination/redis.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { connectMongoDocuments } from '../../../src/platform/stores/documents/mongodb.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { prepared } from '../../support/documents.ts';
import { startServer } from '../../support/harness.ts';
import { OPERATOR } from '../../support/operator.ts';

/** Stores whose every byte can be read back. */
interface OpenBook {
  stores: Stores;
  contents(): Promise<string>;
}

/** Uses every way that a secret takes into the service; answers the secrets. */
async function useSecrets(
  t: Test,
  stores: Stores,
): Promise<{ secrets: Record<string, string>; log: string }> {
  const server = await startServer(t, { stores });
  const { email, password, key } = await server.account();
  const headers = { 'idempotency-key': 'secret-1' };
  const signedIn = await server.call('/auth/sign-in', { json: { email, password }, headers });
  const { token } = signedIn.json.data;
  const issued = await server.call('/api-keys', { session: token, json: { name: 'robot' }, headers });
  const operated = await runCommand(['account', 'create', '--email', 'op@example.test'], {
    ...stores,
    planIds: ['free'],
    publicUrl: 'http://127.0.0.1:3000',
    now: () => new Date(),
    ...OPERATOR,
  });
  const secrets = {
    password,
    key,
    token,
    issued: issued.json.data.key,
    operatorPassword: String(operated.data.password),
    operatorKey: String(operated.data.key),
    wrongPassword: `wrong-${randomText(20)}`,
    wrongKey: `drk_${randomText(40)}`,
    wrongToken: `ses_${randomText(40)}`,
  };
  const feedback = {
    json: { kind: 'bug', message: 'kept answer' },
    headers: { 'idempotency-key': 'kept-1' },
  };
  for (const credential of [
    { key },
    { session: token },
    { key: secrets.issued },
    { key: secrets.operatorKey },
  ]) {
    const { status } = await server.call('/feedback', { ...credential, ...feedback });
    t.match(status, /^20[01]$/);
  }
  await server.call('/auth/sign-in', { json: { email, password: secrets.wrongPassword } });
  await server.call('/account', { key: secrets.wrongKey });
  await server.call('/account', { session: secrets.wrongToken });
  await server.call('/api-keys/self', { method: 'DELETE', key: secrets.issued });
  await server.call('/auth/sign-out', { method: 'POST', session: token });
  return { secrets, log: server.logged() };
}

function staysOutOf(t: Test, secrets: Record<string, string>, slot: string, contents: string): void {
  t.ok(contents.length > 1000, `${slot}: ${contents.length} characters were read`);
  const found = Object.entries(secrets).filter(([, secret]) => contents.includes(secret));
  t.same(
    found.map(([name]) => name),
    [],
    `no secret is in ${slot}`,
  );
}

async function embedded(t: Test): Promise<OpenBook> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  const coordination = new EmbeddedCoordination(documents);
  return {
    stores: storesOf(t, {
      documents,
      coordination,
      objects: new FileObjectStore(join(directory, 'objects')),
    }),
    async contents() {
      const names = await readdir(directory, { recursive: true, withFileTypes: true });
      const files = names.filter((entry) => entry.isFile());
      const texts = files.map((file) => readFile(join(file.parentPath, file.name), 'latin1'));
      return (await Promise.all(texts)).join('\n');
    },
  };
}

async function cluster(t: Test, mongodbUrl: string, redisUrl: string): Promise<OpenBook> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const url = randomDatabase(mongodbUrl);
  t.teardown(() => dropDatabase(url));
  const keyPrefix = `secrets-${randomText(8)}:`;
  const documents = await prepared(connectMongoDocuments(url));
  const coordination = new RedisCoordination({ url: redisUrl, keyPrefix });
  return {
    stores: storesOf(t, {
      documents,
      coordination,
      objects: new FileObjectStore(join(directory, 'objects')),
    }),
    contents: async () => (await mongoContents(url)) + (await redisContents(redisUrl, keyPrefix)),
  };
}

function storesOf(t: Test, opened: Omit<Stores, 'close'>): Stores {
  const stores = {
    ...opened,
    async close() {
      await opened.coordination.close();
      await opened.documents.close();
    },
  };
  t.teardown(() => stores.close());
  return stores;
}

async function mongoContents(url: string): Promise<string> {
  const client = await MongoClient.connect(url);
  const collections = await client.db().collections();
  const dumps = await Promise.all(collections.map((collection) => collection.find().toArray()));
  await client.close();
  return JSON.stringify(dumps);
}

async function redisContents(url: string, prefix: string): Promise<string> {
  const client = new Redis(url);
  const keys = await client.keys(`${prefix}*`);
  const dumps = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
  await client.quit();
  return [...keys, ...dumps.map((dump) => dump?.toString('latin1'))].join('\n');
}

async function promise(t: Test, { stores, contents }: OpenBook): Promise<void> {
  const { secrets, log } = await useSecrets(t, stores);
  staysOutOf(t, secrets, 'the log', log);
  staysOutOf(t, secrets, 'the stores', await contents());
}

t.test('passwords, keys and tokens occur in no log, file and document', async (t) => {
  await promise(t, await embedded(t));
});

const { MONGODB_URL = '', REDIS_URL = '' } = process.env;
const skip = MONGODB_URL && REDIS_URL ? false : 'MONGODB_URL and REDIS_URL name no servers';
t.test('nor in MongoDB and Redis', { skip }, async (t) => {
  await promise(t, await cluster(t, MONGODB_URL, REDIS_URL));
});
