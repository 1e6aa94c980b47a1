// needs: s3
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { readSettings } from '../../../config/index.ts';
import { runMigrateCommand } from '../../../src/host/admin/migration.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';
import { S3ObjectStore } from '../../../src/platform/stores/objects/s3.ts';
import { startS3Server, type TestS3Server } from '../../support/services/s3-server.ts';

const BUCKET = 'migrated';
const REGION = 'us-east-1';

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'darkroom-migrate-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Present settings with some documents and objects, and the file that names the target. */
async function sides(t: Test, lines: readonly string[]) {
  const [from, to] = [await folder(t), await folder(t)];
  const documents = openEmbeddedDocuments(join(from, 'documents.sqlite'));
  const things = documents.collection<{ _id: string; n: number }>({ name: 'things', indexes: [] });
  await things.insertMany(Array.from({ length: 50 }, (_, n) => ({ _id: `thing${n}`, n })));
  await documents.close();
  const objects = new FileObjectStore(join(from, 'objects'));
  for (let n = 0; n < 3; n += 1) await objects.put(`assets/a${n}/file`, Buffer.alloc(100, n), 'image/png');
  const file = join(to, 'target.env');
  await writeFile(file, [`DATA_DIR=${to}`, ...lines].join('\n'));
  const shown: string[] = [];
  const source = readSettings({ DATA_DIR: from }).stores;
  const migrated = () =>
    runMigrateCommand(['migrate', '--to', file], source, {}, (line) => void shown.push(line));
  return { from, to, shown, migrated };
}

async function migratesTo(s3: TestS3Server): Promise<void> {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = s3.credentials;
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  const client = new S3Client({ region: REGION, endpoint: s3.url, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const bucket = new S3ObjectStore({ bucket: BUCKET, region: REGION, endpoint: s3.url, credentials });
  const bucketLines = [`S3_BUCKET=${BUCKET}`, `S3_ENDPOINT=${s3.url}`];
  t.teardown(async () => {
    client.destroy();
    await bucket.close();
    await s3.stop();
  });
  for (const name of Object.keys(s3.credentials)) delete process.env[name];

  t.test('the keys of a bucket are read from the file that names it', async (t) => {
    const keys = Object.entries(s3.credentials).map(([name, value]) => `${name}=${value}`);
    const { migrated } = await sides(t, [...bucketLines, ...keys]);
    t.match(await migrated(), { data: { collections: { things: 50 }, objects: 3, bytes: 300 } });
    t.same(Buffer.from((await bucket.read('assets/a2/file', 999)) ?? []), Buffer.alloc(100, 2));
  });

  t.test('a store that does not answer is named before anything is copied', async (t) => {
    const wrong = ['AWS_ACCESS_KEY_ID=darkroom-test', 'AWS_SECRET_ACCESS_KEY=wrong-secret'];
    const { to, migrated } = await sides(t, [...bucketLines, ...wrong]);
    await t.rejects(migrated(), {
      name: 'CommandUsageError',
      message: /^The objects of the stores of the file do not answer.*nothing was copied/,
    });
    const documents = openEmbeddedDocuments(join(to, 'documents.sqlite'));
    t.teardown(() => documents.close());
    t.same(await documents.collections(), [], 'no document was copied');
  });
}

t.test(
  'a file with a misspelt name is refused before a store is opened, and both sides are shown',
  async (t) => {
    const misspelt = await sides(t, ['S3_BUCKETT=darkroom']);
    await t.rejects(misspelt.migrated(), {
      message: /there is no setting S3_BUCKETT\. Did you mean S3_BUCKET\?/,
    });
    t.same(misspelt.shown, []);
    t.notOk(existsSync(join(misspelt.to, 'documents.sqlite')));

    const { migrated, shown, from, to } = await sides(t, ['PROCESSES=1', 'PROCESSES=2']);
    const answer = await migrated();
    t.match(shown[0], /sets PROCESSES in lines 2 and 3/);
    for (const text of [shown[1], answer.text])
      t.match(
        text,
        new RegExp(`documents +embedded in ${from} +embedded in ${to}\\nobjects +files in ${from}`),
      );
    t.ok(shown.includes('things, documents: 50 of 50 (100 %)'));
    t.ok(shown.includes('objects: 3 of 3 (100 %)'));
  },
);

t.test('a migration that stops says how it goes on', async (t) => {
  const { to, migrated } = await sides(t, []);
  await mkdir(join(to, 'objects'));
  await writeFile(join(to, 'objects', 'assets'), 'in the way');
  await t.rejects(migrated(), {
    message:
      /^The migration stopped: .*assets.*\. Remove the cause and run it again: it continues where it was\.$/,
  });
  await rm(join(to, 'objects', 'assets'));
  t.match(await migrated(), { data: { collections: { things: 50 }, objects: 3, bytes: 300 } });
});

const s3 = await startS3Server();
if (s3 === null) t.pass('a migration to a bucket', { skip: 'there is no server of S3' });
else await migratesTo(s3);
