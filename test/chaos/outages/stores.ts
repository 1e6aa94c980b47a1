import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { Test } from 'tap';
import { dropDatabase, randomDatabase, startMongo } from '../../../bench/services/mongodb.ts';
import { startPrivateRedis } from '../../../bench/services/redis.ts';
import { startProxy } from '../../support/services/proxy.ts';
import { startS3Server } from '../../support/services/s3-server.ts';

export type Scope = Pick<Test, 'teardown'>;

/** Makes a store unavailable, and available again. */
export interface Outage {
  begin(): unknown;
  end(): unknown;
}

/** Stores of a service under test. */
export interface TestStores {
  settings: Record<string, string>;
  outages: Record<string, Outage>;
}

const DISK_MEGABYTES = 400;
const BUCKET = 'darkroom-outages';
const REGION = 'us-east-1';

/** Outages of the cluster form by name, in the order of a soak. */
export const CLUSTER_OUTAGES = [
  'redis-kill',
  'redis-stop',
  'mongo-cut',
  'mongo-stop',
  'bucket-kill',
  'bucket-stop',
];

/**
 * Redis, MongoDB and their own bucket. Redis and the bucket keep what they have over a kill. MongoDB may be the
 * stand-in that keeps nothing: a proxy ends its connections, or holds back all bytes as a stopped server does.
 * @returns null, with a message on stderr, if one of them cannot run.
 */
export async function startClusterStores({ teardown }: Scope): Promise<TestStores | null> {
  const redis = await startPrivateRedis(true);
  if (redis === null) return null;
  teardown(redis.stop);
  const mongo = await startMongo();
  if (mongo === null) return null;
  teardown(mongo.stop);
  const s3 = await startS3Server();
  if (s3 === null) return null;
  teardown(s3.stop);
  const credentials = {
    accessKeyId: s3.credentials.AWS_ACCESS_KEY_ID,
    secretAccessKey: s3.credentials.AWS_SECRET_ACCESS_KEY,
  };
  const client = new S3Client({ region: REGION, endpoint: s3.url, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  client.destroy();
  const database = randomDatabase(mongo.url);
  teardown(() => dropDatabase(database));
  const proxy = await startProxy(Number(new URL(database).port));
  teardown(proxy.stop);
  const through = new URL(database);
  through.port = String(proxy.port);
  return {
    settings: {
      ...s3.credentials,
      ...{ TEST_STORES: '', REDIS_URL: redis.url, MONGODB_URL: through.href },
      ...{ S3_BUCKET: BUCKET, S3_ENDPOINT: s3.url, S3_REGION: REGION },
    },
    outages: {
      'redis-kill': { begin: redis.kill, end: redis.restart },
      'redis-stop': { begin: redis.freeze, end: redis.thaw },
      'mongo-cut': { begin: proxy.cut, end: proxy.restore },
      'mongo-stop': { begin: proxy.stall, end: proxy.resume },
      'bucket-kill': { begin: s3.kill, end: s3.restart },
      'bucket-stop': { begin: s3.freeze, end: s3.thaw },
    },
  };
}

/** Outages of the embedded form by name. The primary, in which the embedded stores run, stops for 40 s at most. */
export const EMBEDDED_OUTAGES = ['objects-gone', 'objects-full', 'primary-stop'];
export const MAX_PRIMARY_STOP_SECONDS = 40;

/**
 * Embedded stores, whose objects lie on their own small disk where this process may mount one.
 * @param primary the pid of the primary, once it runs.
 */
export async function makeEmbeddedStores({ teardown }: Scope, primary: () => number): Promise<TestStores> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-outages-'));
  teardown(() => rm(directory, { recursive: true, force: true }));
  const objects = join(directory, 'objects');
  const filler = join(objects, 'filler');
  const hidden = join(directory, 'hidden');
  const outages: Record<string, Outage> = {
    // A plain file stands in its place: each step upon it fails, for root too.
    'objects-gone': {
      async begin() {
        await rename(objects, hidden);
        await writeFile(objects, '');
      },
      async end() {
        await rm(objects);
        await rename(hidden, objects);
      },
    },
    'primary-stop': {
      begin: () => void process.kill(primary(), 'SIGSTOP'),
      end: () => void process.kill(primary(), 'SIGCONT'),
    },
    'objects-full': {
      begin: () => fill(filler),
      end: () => rm(filler),
    },
  };
  return { settings: { DATA_DIR: directory, TEST_STORES: '' }, outages };
}

/** Puts a small disk in the place of the objects' directory. @returns whether this process may. */
export async function mountSmallDisk({ teardown }: Scope, dataDirectory: string): Promise<boolean> {
  const objects = join(dataDirectory, 'objects');
  await mkdir(objects, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m`, 'tmpfs', objects], {
      stdio: 'ignore',
    });
  } catch {
    return false;
  }
  teardown(() => execFileSync('umount', ['-l', objects]));
  return true;
}

/** Writes to a file until its disk is full. */
async function fill(path: string): Promise<void> {
  const chunk = new Uint8Array(2 ** 20);
  for (let written = 0; written < DISK_MEGABYTES; written += 1) {
    try {
      await writeFile(path, chunk, { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}
