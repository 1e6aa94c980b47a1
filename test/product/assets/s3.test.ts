// needs: server, s3
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import t from 'tap';
import { S3ObjectStore } from '../../../src/platform/stores/objects/s3.ts';
import { startServer } from '../../support/harness.ts';
import { startS3Server, type TestS3Server } from '../../support/services/s3-server.ts';
import { openGallery, picture, refused } from './gallery-harness.ts';

const where = { bucket: 'darkroom-assets', region: 'us-east-1' };

async function assetsInBucket(s3: TestS3Server): Promise<void> {
  Object.assign(process.env, s3.credentials);
  const client = new S3Client({ region: where.region, endpoint: s3.url, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: where.bucket }));
  const bucket = new S3ObjectStore({ ...where, endpoint: s3.url });
  const { stores } = await startServer(t);
  t.teardown(async () => {
    await bucket.close();
    client.destroy();
    await s3.stop();
  });

  t.test('an asset is uploaded to a bucket, read from it and deleted in it', async (t) => {
    const { newAccount, objects } = await openGallery(t, { stores: { ...stores, objects: bucket } });
    const { call, upload, reserved } = await newAccount();
    const large = new Uint8Array(20 * 1024 * 1024);
    large.set(await picture());
    const { id, image } = (await upload(large)).json.data;
    t.equal(image.bytes, large.length);
    t.ok((await call(`/assets/${id}/content`)).bytes.equals(large));
    const range = await call(`/assets/${id}/content`, { headers: { range: 'bytes=-5' } });
    t.same([range.status, range.bytes.length], [206, 5]);
    t.equal((await call('/images/transform', { json: { op: 'flip', assetId: id } })).status, 200);

    const { put } = await reserved();
    t.equal((await put(await picture())).status, 200);
    refused(t, await upload(new TextEncoder().encode('no image')), 400, 'unsupported_format', 'file');
    t.equal((await objects()).length, 2);
    for (const asset of (await call('/assets')).json.data) {
      t.equal((await call(`/assets/${asset.id}`, { method: 'DELETE' })).status, 204);
    }
    t.same(await objects(), []);
  });

  t.test('a bucket that does not answer is 503 for a reader, and takes no asset', async (t) => {
    const nowhere = new S3ObjectStore({ ...where, bucket: 'no-such-bucket', endpoint: s3.url });
    t.teardown(() => nowhere.close());
    const good = await openGallery(t, { stores: { ...stores, objects: bucket } });
    const bad = await openGallery(t, { stores: { ...stores, objects: nowhere } });
    const { id, key } = await good.server.account();
    const body = await picture();
    const { data } = (await good.server.call('/assets/upload', { key, body, type: 'image/png' })).json;
    const read = await bad.server.call(`/assets/${data.id}/content`, { key });
    refused(t, read, 503, 'provider_unavailable');
    t.equal(read.json.error.details.reason, 'storage_read');
    const other = await bad.server.call('/assets/upload', { key, body: await picture(), type: 'image/png' });
    refused(t, other, 500, 'internal_error');
    t.equal((await bad.server.call('/assets', { key })).json.meta.total, 1, id);
  });
}

const s3 = await startS3Server();
if (s3 === null) t.pass('assets lie in S3', { skip: 'there is no server of S3' });
else await assetsInBucket(s3);
