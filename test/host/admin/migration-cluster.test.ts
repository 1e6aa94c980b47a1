// needs: mongodb, redis
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { dropDatabase, randomDatabase, startMongo } from '../../../bench/services/mongodb.ts';
import { startPrivateRedis } from '../../../bench/services/redis.ts';
import { readSettings } from '../../../config/index.ts';
import { runMigrateCommand } from '../../../src/host/admin/migration.ts';
import { checkDocuments } from '../../../src/host/doctor/mongodb.ts';
import { answerControls } from '../../../src/host/processes/controls.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { connectMongoDocuments } from '../../../src/platform/stores/documents/mongodb.ts';
import { MIGRATION_MARKER } from '../../../src/platform/stores/migration-marker.ts';
import { connectRedisCoordination } from '../../../src/platform/stores/open.ts';

const [mongo, redis] = [await startMongo(), await startPrivateRedis()];
const skip = (mongo === null || redis === null) && 'no MongoDB or no Redis';
t.teardown(() => Promise.all([mongo?.stop(), redis?.stop()]));

t.test(
  'a cluster is copied only while no host uses it, and never from an unfinished copy',
  { skip },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-migration-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const MONGODB_URL = randomDatabase(mongo?.url ?? '');
    t.teardown(() => dropDatabase(MONGODB_URL));
    const cluster = { MONGODB_URL, REDIS_URL: redis?.url ?? '', DATA_DIR: join(folder, 'cluster') };
    const settings = readSettings(cluster);
    const file = join(folder, 'back.env');
    await writeFile(file, `DATA_DIR=${join(folder, 'back')}\n`);
    const migrated = () => runMigrateCommand(['migrate', '--to', file], settings.stores, {}, () => undefined);

    const documents = connectMongoDocuments(MONGODB_URL);
    t.teardown(() => documents.close());
    const things = documents.collection({ name: 'things', indexes: [] });
    await things.insertMany([{ _id: 'a' }, { _id: 'b' }]);
    const host = await connectRedisCoordination(settings.stores);
    t.teardown(() => host.close());
    const stopped = await answerControls(host, { hostId: 'first', processId: '1' }, async () => ({}));
    await t.rejects(migrated(), {
      message: /The service uses the present stores on 1 host: nothing was copied/,
    });
    await stopped();

    const marker = documents.collection({ name: MIGRATION_MARKER.name, indexes: [] });
    await marker.insertOne({ _id: MIGRATION_MARKER.id });
    await t.rejects(migrated(), { message: /unfinished copy/ });
    t.match(await checkDocuments(MONGODB_URL), [{}, { state: 'problem', message: /unfinished copy/ }]);
    await marker.deleteOne({ _id: MIGRATION_MARKER.id });
    t.equal((await checkDocuments(MONGODB_URL)).length, 1);

    t.match(await migrated(), { data: { collections: { things: 2 } } });
  },
);

t.test('a Redis of the file that does not answer is told before anything is copied', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-migration-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const MONGODB_URL = randomDatabase(mongo?.url ?? '');
  t.teardown(() => dropDatabase(MONGODB_URL));
  const file = join(folder, 'cluster.env');
  await writeFile(file, `MONGODB_URL=${MONGODB_URL}\nREDIS_URL=redis://127.0.0.1:9\nDATA_DIR=${folder}/to\n`);
  const source = readSettings({ DATA_DIR: join(folder, 'from') }).stores;
  await mkdir(source.DATA_DIR);
  const documents = openEmbeddedDocuments(join(source.DATA_DIR, 'documents.sqlite'));
  await documents.collection({ name: 'things', indexes: [] }).insertOne({ _id: 'a' });
  await documents.close();
  await t.rejects(
    runMigrateCommand(['migrate', '--to', file], source, {}, () => undefined),
    { message: /Redis does not answer/ },
  );
});
