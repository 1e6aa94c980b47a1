// needs: redis
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { startPrivateRedis } from '../../../bench/services/redis.ts';
import { readSettings } from '../../../config/index.ts';
import { latencyFinding } from '../../../src/host/doctor/finding.ts';
import { checkHosts } from '../../../src/host/doctor/hosts.ts';
import { checkRedis, redisConnectionsFinding, redisVersionFinding } from '../../../src/host/doctor/redis.ts';
import { answerControls } from '../../../src/host/processes/controls.ts';
import { deploymentFingerprint, holdRedisPrefix } from '../../../src/host/processes/deployment.ts';
import { LinkSigner } from '../../../src/platform/http/signatures.ts';
import { verifyRedis } from '../../../src/platform/stores/coordination/redis-connection.ts';
import { connectRedisCoordination } from '../../../src/platform/stores/open.ts';
import { finds } from './finds.ts';

const MAIN = join(import.meta.dirname, '../../../src/host/main.ts');
const HOUR_MS = 3_600_000;
const now = () => new Date();
const settingsOf = (environment: Record<string, string>) => readSettings({ PROCESSES: '4', ...environment });
const MONGODB_URL = 'mongodb://127.0.0.1:1/x?serverSelectionTimeoutMS=200';

t.test('faults of Redis are found', async (t) => {
  const redis = await startPrivateRedis();
  if (redis === null) return t.pass('skipped: there is no Redis');
  t.teardown(() => redis.stop());
  const settings = settingsOf({ REDIS_URL: redis.url, MONGODB_URL: 'mongodb://127.0.0.1:1/x' });
  const client = new Redis(redis.url);
  t.teardown(() => client.disconnect());
  await client.config('SET', 'appendonly', 'yes');
  t.ok(
    (await checkRedis(settings, now)).every(
      ({ state, message }) => state === 'ok' || /answers in/.test(message),
    ),
  );
  const found = async (clock = now) =>
    (await checkRedis(settings, clock)).filter(({ message }) => !/answers in/.test(message));
  const late = () => new Date(Date.now() + HOUR_MS);
  finds(t, await found(late), 'problem', /clocks of Redis and this host differ by 3(600|599|601) s/, /NTP/);
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
  finds(t, await found(), 'problem', /allkeys-lru/, /noeviction/);
  await client.config('SET', 'maxmemory-policy', 'noeviction');
  await client.config('SET', 'appendonly', 'no');
  finds(t, await found(), 'warning', /append-only file/, /appendonly/);
  finds(t, [redisVersionFinding('6.0.16')], 'problem', /6\.0\.16/, /newer/);
  finds(t, [latencyFinding('Redis', [8, 9, 30])], 'warning', /9\.00 ms/, /nearer/);
  const away = settingsOf({ REDIS_URL: 'redis://127.0.0.1:1', MONGODB_URL: 'mongodb://127.0.0.1:1/x' });
  finds(t, await checkRedis(away, now), 'problem', /does not answer: .*ECONNREFUSED/, /REDIS_URL/);
});

t.test('a host of the cluster whose clock is off is found from another one', async (t) => {
  const redis = await startPrivateRedis();
  if (redis === null) return t.pass('skipped: there is no Redis');
  t.teardown(() => redis.stop());
  const settings = settingsOf({ REDIS_URL: redis.url, MONGODB_URL: 'mongodb://127.0.0.1:1/x' });
  t.match(await checkHosts(settings), [{ state: 'ok', message: /No process/ }]);
  // Each process has its own connection: Redis counts the connections that receive a question, not their handlers.
  const run = async (hostId: string, processId: string, data: Record<string, unknown> | null) => {
    const coordination = await connectRedisCoordination(settings.stores);
    t.teardown(() => coordination.close());
    await answerControls(coordination, { hostId, processId }, async () => data);
  };
  await run('near', '1', { clockDifferenceMs: 3 });
  await run('far', '1', { clockDifferenceMs: -11_000 });
  await run('far', 'primary', null);
  finds(t, await checkHosts(settings), 'problem', /Redis and host far differ by 11 s/, /NTP/);
});

t.test(
  'a database number that is not there, a replica and a cluster are refused by the start and found',
  async (t) => {
    const primary = await startPrivateRedis();
    const replica = await startPrivateRedis();
    if (primary === null || replica === null) return t.pass('skipped: there is no Redis');
    t.teardown(() => Promise.all([primary.stop(), replica.stop()]));
    const refused = async (REDIS_URL: string, message: RegExp, remedy: RegExp) => {
      await t.rejects(verifyRedis(REDIS_URL), { message });
      const found = await checkRedis(settingsOf({ REDIS_URL, MONGODB_URL }), now);
      t.match(found[0], { state: 'problem', message, remedy });
    };
    for (const url of [primary.url, `${primary.url}/15`, `${primary.url}?db=3`]) await verifyRedis(url);
    await refused(
      `${primary.url}/99`,
      /^REDIS_URL names the database 99, which this Redis does not have/,
      /0 to 15/,
    );
    t.throws(() => settingsOf({ REDIS_URL: `${primary.url}/x`, MONGODB_URL }), {
      message: /number of a database/,
    });
    const client = new Redis(replica.url);
    t.teardown(() => client.disconnect());
    await client.replicaof('127.0.0.1', Number(new URL(primary.url).port));
    await refused(replica.url, /^REDIS_URL leads to a replica/, /Name its primary/);
    await client.replicaof('NO', 'ONE');
    await verifyRedis(replica.url);
    await t.rejects(verifyRedis('redis://127.0.0.1:1'), { message: /Redis does not answer: .*ECONNREFUSED/ });
  },
);

t.test('the start says why Redis cannot be used, and which setting to check', async (t) => {
  const redis = await startPrivateRedis();
  if (redis === null) return t.pass('skipped: there is no Redis');
  t.teardown(() => redis.stop());
  const client = new Redis(redis.url);
  t.teardown(() => client.disconnect());
  await client.config('SET', 'requirepass', 'secret');
  const { host } = new URL(redis.url);
  const start = (REDIS_URL: string) => {
    const env = { ...process.env, REDIS_URL, MONGODB_URL, PORT: '0', DATA_DIR: t.testdirName };
    return promisify(execFile)(process.execPath, [MAIN], { env });
  };
  const rows: Array<[url: string, reason: string]> = [
    ['redis://127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
    [`redis://${host}`, 'NOAUTH .*[^.]'],
    [`redis://:wrong@${host}`, 'WRONGPASS .*[^.]'],
  ];
  for (const [url, reason] of rows)
    await t.rejects(start(url), {
      code: 1,
      stderr: new RegExp(
        `^Redis does not answer: ${reason}\\. Check REDIS_URL \\(.*\\), its password, .*\\n$`,
      ),
    });
});

/** Coordination of a deployment, with what it wrote into its log. */
async function deploy(t: Test, url: string, prefix = 'darkroom') {
  const { stores } = settingsOf({ REDIS_URL: url, MONGODB_URL, REDIS_PREFIX: prefix });
  const coordination = await connectRedisCoordination(stores);
  t.teardown(() => coordination.close());
  const logged: string[] = [];
  const log = { error: (message: string) => void logged.push(message) };
  return {
    coordination,
    hold: (mark: string) => holdRedisPrefix(coordination, { mark, prefix, log }),
    logged,
  };
}

t.test(
  'two deployments on one Redis and prefix: the second is refused, and a Redis that forgot is no obstacle',
  async (t) => {
    const redis = await startPrivateRedis();
    if (redis === null) return t.pass('skipped: there is no Redis');
    t.teardown(() => redis.stop());
    const client = new Redis(redis.url);
    t.teardown(() => client.disconnect());
    const ours = await deploy(t, redis.url);
    await ours.hold('ours');
    await (await deploy(t, redis.url)).hold('ours');
    const theirs = await deploy(t, redis.url);
    await t.rejects(theirs.hold('theirs'), {
      message:
        /^Another deployment, with other documents, uses this Redis with the prefix darkroom\. Set REDIS_PREFIX/,
    });
    await (await deploy(t, `${redis.url}/1`)).hold('theirs');
    await (await deploy(t, redis.url, 'staging')).hold('theirs');
    await client.flushall();
    await ours.hold('ours');
    t.same([ours.logged, theirs.logged], [[], []]);
  },
);

t.test('a deployment is told by its documents and their database, however its URL is written', async (t) => {
  const key = Buffer.alloc(32, 1).toString('base64url');
  const markOf = (url: string, secret = key) =>
    deploymentFingerprint(
      new LinkSigner(secret),
      settingsOf({ REDIS_URL: 'redis://r', MONGODB_URL: url }).stores,
    );
  const mark = markOf('mongodb://one:27017,two:27017/darkroom?replicaSet=rs0');
  for (const url of [
    'ada:secret@two/darkroom',
    'one:27017',
    'one:27017/?replicaSet=rs0',
    'ada:secret@two,one/',
  ])
    t.equal(markOf(`mongodb://${url}`), mark, url);
  t.not(markOf('mongodb://one:27017/staging'), mark, 'a copy in another database');
  t.not(markOf('mongodb://one:27017/darkroom', Buffer.alloc(32, 2).toString('base64url')), mark);
});

t.test('processes of two deployments behind one prefix are found', async (t) => {
  const redis = await startPrivateRedis();
  if (redis === null) return t.pass('skipped: there is no Redis');
  t.teardown(() => redis.stop());
  const settings = settingsOf({ REDIS_URL: redis.url, MONGODB_URL });
  const run = async (hostId: string, deployment: string) => {
    const { coordination } = await deploy(t, redis.url);
    await answerControls(coordination, { hostId, processId: '1' }, async () => ({
      deployment,
      clockDifferenceMs: 0,
    }));
  };
  await run('one', 'aaaa');
  await run('two', 'aaaa');
  t.ok((await checkHosts(settings)).every(({ state }) => state === 'ok'));
  await run('three', 'bbbb');
  finds(t, await checkHosts(settings), 'problem', /^2 deployments .*prefix darkroom/, /REDIS_PREFIX/);
});

t.test('a Redis that takes few connections is found', async (t) => {
  finds(
    t,
    [redisConnectionsFinding(8, 2)],
    'problem',
    /takes 8 connections, and this host needs 6/,
    /maxclients/,
  );
  finds(t, [redisConnectionsFinding(40, 2)], 'warning', /takes 40 connections/, /maxclients/);
  for (const limit of [10_000, null]) t.equal(redisConnectionsFinding(limit, 2).state, 'ok');
});
