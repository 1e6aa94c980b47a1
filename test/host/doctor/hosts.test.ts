// needs: service, redis, mongodb
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { randomDatabase } from '../../../bench/services/mongodb.ts';
import { readSettings } from '../../../config/index.ts';
import { checkHosts, settingMismatchFindings } from '../../../src/host/doctor/hosts.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { startWholeService } from '../../support/whole-service.ts';
import { finds } from './finds.ts';

const { MONGODB_URL, REDIS_URL } = process.env;
const skip = MONGODB_URL === undefined || REDIS_URL === undefined ? 'there is no Redis or no MongoDB' : false;

t.test('hosts of one deployment with different settings or objects are found', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-hosts-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const shared = {
    MONGODB_URL: randomDatabase(MONGODB_URL ?? ''),
    REDIS_URL: REDIS_URL ?? '',
    REDIS_PREFIX: `hosts-${randomText(6)}`,
    PROCESSES: '1',
  };
  const ours = { ...shared, DATA_DIR: join(folder, 'ours'), TOP_UP_URL: 'https://pictures.example' };
  const found = () => checkHosts(readSettings(ours));
  const first = await startWholeService(t, ours);
  const create = { width: 8, height: 8, channels: 3, background: '#336699' } as const;
  const picture = new Uint8Array(await sharp({ create }).png().toBuffer());
  const headers = { authorization: `ApiKey ${first.key}`, 'content-type': 'image/png' };
  const upload = await fetch(`${first.url}/api/v1/assets/upload`, { method: 'POST', body: picture, headers });
  t.ok(upload.ok);
  t.ok((await found()).every(({ state }) => state === 'ok'));

  const second = await startWholeService(t, { ...ours, PORT: '0', TRANSFORM_TIMEOUT_MS: '9000' });
  t.ok(
    (await found()).every(({ state }) => state === 'ok'),
    'a timeout may differ',
  );
  second.signal('SIGTERM');
  await second.ended;

  await startWholeService(t, {
    ...shared,
    DATA_DIR: join(folder, 'theirs'),
    OPERATOR_TOKEN: 'a-token-that-only-one-host-has',
  });
  const wrong = (await found()).filter(({ state }) => state !== 'ok');
  finds(
    t,
    wrong.filter(({ state }) => state === 'problem'),
    'problem',
    /^Host \w{12} has other objects than this one/,
    /S3_BUCKET/,
  );
  finds(
    t,
    wrong.filter(({ state }) => state === 'warning'),
    'warning',
    /^Host \w{12} runs with other values of OPERATOR_TOKEN, TOP_UP_URL than the doctor/,
    /same values/,
  );
  t.notMatch(JSON.stringify(wrong), /a-token-that/);
});

t.test(
  'a host that cannot read the objects is found, and one of an earlier version is passed over',
  async (t) => {
    const expected = { fingerprints: { S3_BUCKET: 'a' }, hasObject: true };
    const answer = { hostId: 'far', processId: 'primary', data: null };
    const denied = settingMismatchFindings({ ...answer, error: 'Access Denied.' }, expected);
    finds(t, denied, 'problem', /^Host far cannot read its objects: Access Denied\.$/, /S3_BUCKET/);
    t.same(settingMismatchFindings(answer, expected), []);
    const deleted = { ...answer, data: { fingerprints: { S3_BUCKET: 'a' }, hasObject: false } };
    t.same(settingMismatchFindings(deleted, { ...expected, hasObject: null }), []);
  },
);
