// needs: s3
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import t from 'tap';
import { BucketStorage } from '../../../../src/platform/file-cache/storage.ts';
import { S3ObjectStore } from '../../../../src/platform/stores/objects/s3.ts';
import { startProxy } from '../../../support/services/proxy.ts';
import { startS3Server, type TestS3Server } from '../../../support/services/s3-server.ts';
import { fileCacheContract } from '../../file-cache/contract.ts';
import { objectsContract } from './contract.ts';

const MEGABYTE = 1_048_576;
const bucket = 'darkroom-test';
const region = 'us-east-1';

async function promisesOnS3(s3: TestS3Server): Promise<void> {
  Object.assign(process.env, s3.credentials);
  const client = new S3Client({ region, endpoint: s3.url, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const objects = new S3ObjectStore({ bucket, region, endpoint: s3.url });
  const port = Number(new URL(s3.url).port);
  const unavailable = { name: 'StoreUnavailableError' };
  t.teardown(async () => {
    await objects.close();
    client.destroy();
    await s3.stop();
  });

  t.test('on S3', async (t) => objectsContract(t, () => objects));

  t.test('a cache among the objects of S3', async (t) =>
    fileCacheContract(t, async () => {
      const prefix = `kept-${randomBytes(6).toString('hex')}/`;
      return new BucketStorage({ objects, prefix, maxFileBytes: MEGABYTE });
    }),
  );

  t.test('a connection lost in the middle of a put stores nothing', async (t) => {
    const proxy = await startProxy(port);
    const distant = new S3ObjectStore({ bucket, region, endpoint: `http://127.0.0.1:${proxy.port}` });
    t.teardown(async () => {
      await distant.close();
      await proxy.stop();
    });
    const bodies = [
      { key: 'lost/whole', afterBytes: MEGABYTE, body: randomBytes(4 * MEGABYTE) },
      { key: 'lost/first-part', afterBytes: MEGABYTE, body: Readable.from(megabytes(20)) },
      { key: 'lost/second-part', afterBytes: 10 * MEGABYTE, body: Readable.from(megabytes(20)) },
    ];
    for (const { key, afterBytes, body } of bodies) {
      await distant.ping();
      proxy.cutAfter(afterBytes);
      await t.rejects(distant.put(key, body, 'image/png'), unavailable, key);
      if (body instanceof Readable) t.ok(body.destroyed, 'the sender is let go');
      t.equal(await objects.get(key), null, key);
      await proxy.restore();
    }
    t.same(
      await distant.put('lost/whole', Buffer.from('now'), 'text/plain'),
      { sizeBytes: 3 },
      'it recovers',
    );
  });

  t.test('a connection lost in the middle of a read is told', async (t) => {
    const proxy = await startProxy(port);
    const distant = new S3ObjectStore({ bucket, region, endpoint: `http://127.0.0.1:${proxy.port}` });
    t.teardown(async () => {
      await distant.close();
      await proxy.stop();
    });
    await objects.put('cut', randomBytes(20 * MEGABYTE), 'image/png');
    const object = await distant.get('cut');
    await proxy.cut();
    await t.rejects(async () => object && buffer(object.body));
    await t.rejects(distant.read('cut', 20 * MEGABYTE), unavailable);
    await t.rejects(distant.ping(), unavailable);
  });

  t.test('a bucket that hangs is refused, and answers again when it does', async (t) => {
    const proxy = await startProxy(port);
    const distant = new S3ObjectStore({ bucket, region, endpoint: `http://127.0.0.1:${proxy.port}` });
    t.teardown(async () => {
      await distant.close();
      await proxy.stop();
    });
    await distant.put('hanging', Buffer.from('x'), 'text/plain');
    proxy.stall();
    const answers = await Promise.allSettled([
      distant.get('hanging'),
      distant.ping(),
      // What hangs may still arrive when the bucket answers again: this one deletes nothing.
      distant.delete('another'),
    ]);
    for (const answer of answers) t.match(answer, { status: 'rejected', reason: unavailable });
    proxy.resume();
    t.same(await distant.read('hanging', 10), new Uint8Array(Buffer.from('x')));
  });

  t.test('a failed upload leaves no parts behind', async (t) => {
    const failing = Readable.from(
      (async function* () {
        yield* megabytes(9);
        throw new Error('the sender went away');
      })(),
    );
    await t.rejects(objects.put('parts', failing, 'image/png'), /the sender went away/);
    const { Uploads = [] } = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: 'parts' }),
    );
    t.same(Uploads, []);
  });

  t.test('a bucket that is not there is StoreUnavailableError, not a missing object', async (t) => {
    const elsewhere = new S3ObjectStore({ bucket: 'no-such-bucket', region, endpoint: s3.url });
    t.teardown(() => elsewhere.close());
    await t.rejects(elsewhere.ping(), unavailable);
    await t.rejects(elsewhere.get('a'), unavailable);
    await t.rejects(elsewhere.put('a', Buffer.from('x'), 'text/plain'), unavailable);
  });
}

function* megabytes(count: number): Generator<Buffer> {
  for (let i = 0; i < count; i++) yield randomBytes(MEGABYTE);
}

const s3 = await startS3Server();
if (s3 === null) t.pass('S3 keeps the contract', { skip: 'there is no server of S3' });
else await promisesOnS3(s3);
