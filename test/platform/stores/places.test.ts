// needs: nothing
import t from 'tap';
import { readSettings } from '../../../config/index.ts';
import { storeAddressesOf } from '../../../src/platform/stores/open.ts';

const placesWith = (settings: Record<string, string>) => storeAddressesOf(readSettings(settings).stores);

t.test('the places of stores name host, database, bucket or folder, and no secret', async (t) => {
  t.same(placesWith({ DATA_DIR: '/srv/data' }), {
    documents: 'embedded in /srv/data',
    objects: 'files in /srv/data/objects',
    coordination: 'embedded in /srv/data',
  });
  const places = placesWith({
    MONGODB_URL: 'mongodb://ada:p@ss/word@one:27017,two:27017/darkroom?replicaSet=rs0&authSource=secret',
    REDIS_URL: 'rediss://:hidden@cache:6380/3',
    S3_BUCKET: 'pictures',
    S3_ENDPOINT: 'http://key:hidden@objects:9000',
  });
  t.same(places, {
    documents: 'mongodb://one:27017,two:27017/darkroom',
    objects: 'bucket pictures of http://objects:9000',
    coordination: 'rediss://cache:6380/3, prefix darkroom',
  });
  const unnamed = placesWith({ MONGODB_URL: 'mongodb://one:27017/?replicaSet=rs0', REDIS_URL: 'redis://r' });
  t.equal(unnamed.documents, 'mongodb://one:27017/darkroom', 'the database without a name');
  t.match(placesWith({ S3_BUCKET: 'pictures' }).objects, /^bucket pictures of AWS$/);
});
