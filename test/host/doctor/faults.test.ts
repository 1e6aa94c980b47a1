// needs: documents
import { execFile } from 'node:child_process';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { readSettings } from '../../../config/index.ts';
import { browserSandboxFinding, checkBrowser } from '../../../src/host/doctor/browser.ts';
import { allocatorFinding, type HostFacts, hostFindings } from '../../../src/host/doctor/host.ts';
import { checkMongo, mongoServerFindings, writeConcernFinding } from '../../../src/host/doctor/mongodb.ts';
import {
  checkMail,
  checkProviders,
  checkPublicUrl,
  outboundNetworkFindings,
  reverseProxyFinding,
} from '../../../src/host/doctor/network.ts';
import {
  checkDisk,
  checkObjectStore,
  checkTemporaryFolder,
  databaseFindings,
  deliveryCacheFinding,
  diskKindFinding,
  freeSpaceFinding,
  writeTimeFinding,
} from '../../../src/host/doctor/storage.ts';
import {
  defaultProcessCount,
  processCountSentence,
} from '../../../src/platform/concurrency/control-group.ts';
import { serve } from '../../support/loopback.ts';
import { finds } from './finds.ts';

const MEGABYTE = 1_048_576;
const GIGABYTE = 1_024 * MEGABYTE;
const now = () => new Date();

/** A font of every script that the doctor asks for. */
const EVERYTHING = {
  family: 'Everything',
  styles: ['Regular'],
  scripts: [
    ...['Latin', 'Greek', 'Cyrillic', 'Arabic', 'Hebrew', 'Emoji', 'Devanagari', 'Bengali', 'Tamil', 'Thai'],
    ...['Han', 'Hiragana', 'Katakana', 'Hangul'],
  ],
};
const without = (...scripts: string[]) => [
  { ...EVERYTHING, scripts: EVERYTHING.scripts.filter((script) => !scripts.includes(script)) },
];

const WELL: HostFacts = {
  cores: 4,
  quotaCores: null,
  memoryBytes: 16 * GIGABYTE,
  maxOpenFiles: 65_536,
  maxTasks: null,
  heapBytes: 4 * GIGABYTE,
  fonts: [EVERYTHING],
  missingFontconfig: null,
  nodeVersion: '24.1.0',
  libuvThreads: undefined,
};

const settingsOf = (environment: Record<string, string>) => readSettings({ PROCESSES: '4', ...environment });
const host = (facts: Partial<HostFacts>, environment: Record<string, string> = {}) =>
  hostFindings({ ...WELL, ...facts }, settingsOf(environment));

t.test('a host that is well needs no remedy', async (t) => {
  t.ok(host({}).every(({ state, remedy }) => state === 'ok' && remedy === null));
});

t.test('faults of the host are found, and their remedy is named', async (t) => {
  finds(t, host({ quotaCores: 1.5 }), 'warning', /1\.5 cores/, /PROCESSES to 1/);
  finds(t, host({}, { PROCESSES: '1' }), 'warning', /1 × 1/, /PROCESSES to 4/);
  finds(t, host({}, { IMAGE_THREADS: '8' }), 'warning', /4 × 8/, /IMAGE_THREADS to 1/);
  finds(
    t,
    // The pools of quick passes alone would fit.
    host({}, { IMAGE_MEMORY_MEGABYTES: '4096' }),
    'problem',
    /Up to 45856 MB .* of 16384 MB .*4 × \(quick passes 4096 \+ slow passes 2048 \+ heavy passes 2048 \+ large jobs 2048 \+ browsers 1024 \+ code 200\)\. .* 8 further browsers may take 8192 MB more/,
    /IMAGE_MEMORY_MEGABYTES/,
  );
  finds(
    t,
    host({}, { RENDER_THREADS: '2' }),
    'warning',
    /Up to 17184 MB/,
    /RENDER_THREADS or RENDER_MEMORY_MEGABYTES/,
  );
  finds(t, host({ maxOpenFiles: 256 }), 'problem', /256 open files/, /nofile/);
  finds(t, host({ maxTasks: 100 }), 'problem', /100 processes/, /pids\.max/);
  finds(t, host({ heapBytes: 48 * MEGABYTE }), 'problem', /grow to 48 MB/, /--max-old-space-size/);
  finds(
    t,
    host({}, { IMAGE_WAIT_MS: '60000', TRANSFORM_TIMEOUT_MS: '10000' }),
    'warning',
    /waits for at most 60000 ms .* ends after 10000 ms/,
    /below TRANSFORM_TIMEOUT_MS/,
  );
  finds(
    t,
    host({ missingFontconfig: '/no/fonts.conf' }),
    'problem',
    /FONTCONFIG_FILE names \/no/,
    /leave it out/,
  );
  finds(t, host({ fonts: [] }), 'problem', /no font/, /FONTCONFIG_FILE/);
  finds(t, host({ fonts: without('Emoji') }), 'warning', /draws Emoji/, /fonts-noto-color-emoji/);
  finds(t, host({ fonts: without('Han', 'Hangul') }), 'warning', /draws Han, Hangul/, /fonts-noto-cjk/);
  finds(t, host({ nodeVersion: '20.20.2' }), 'problem', /20\.20\.2/, /npm/);
});

t.test('the number of processes follows the CPU quota', async (t) => {
  t.same(
    [0.5, 1.5, 9, null].map((quota) => defaultProcessCount(quota, 2)),
    [1, 1, 2, 2],
  );
  t.equal(processCountSentence(1, false, 0.5), '1 API process: the CPU quota is 0.5');
  t.equal(processCountSentence(3, true, 0.5), '3 API processes: as set by PROCESSES');
});

t.test('threads of libuv that are too few or no number are found', async (t) => {
  for (const libuvThreads of ['1', 'lots'])
    finds(t, host({ libuvThreads }), 'warning', /UV_THREADPOOL_SIZE is/, /above IMAGE_THREADS/);
  t.ok(host({ libuvThreads: '8' }).every(({ state }) => state === 'ok'));
});

t.test('a database that is damaged is found, and a whole one is well', async (t) => {
  const folder = t.testdir({ 'broken.sqlite': 'This is no database, whatever its name says. '.repeat(99) });
  finds(t, databaseFindings(join(folder, 'broken.sqlite')), 'problem', /not a database/, /backup/);
  const whole = join(folder, 'whole.sqlite');
  const database = new DatabaseSync(whole);
  database.exec('CREATE TABLE pictures (id)');
  database.close();
  t.match(databaseFindings(whole), [{ state: 'ok', message: /is intact/ }]);
  t.same(databaseFindings(join(folder, 'absent.sqlite')), []);
});

t.test('a cache of delivered pictures that is too small is found', async (t) => {
  const nowMs = Date.now();
  const cache = (bytes: number, ageMs: number) =>
    deliveryCacheFinding({ files: 3, bytes, oldestUseMs: nowMs - ageMs }, 100 * MEGABYTE, nowMs);
  finds(t, [cache(90 * MEGABYTE, 20 * 60_000)], 'warning', /90 of 100 MB; .* 20 minutes ago/, /Raise/);
  t.match(cache(90 * MEGABYTE, 3 * 86_400_000), { state: 'ok', message: /3 days ago/ });
  t.match(cache(9 * MEGABYTE, 0), { state: 'ok' });
  t.match(deliveryCacheFinding({ files: 0, bytes: 0, oldestUseMs: null }, 0, nowMs), {
    state: 'ok',
    message: /not kept/,
  });
});

t.test('faults of the disk are found', async (t) => {
  finds(t, [diskKindFinding('tmpfs')], 'problem', /in memory \(tmpfs\)/, /on a disk/);
  finds(
    t,
    [freeSpaceFinding(3 * MEGABYTE, 40 * MEGABYTE, 256 * MEGABYTE)],
    'problem',
    /3 MB free of 40 MB/,
    /refused/,
  );
  finds(
    t,
    [freeSpaceFinding(500 * MEGABYTE, 99 * GIGABYTE, 256 * MEGABYTE)],
    'warning',
    /500 MB free/,
    /more space/,
  );
  finds(t, [writeTimeFinding(45)], 'warning', /45\.0 ms/, /faster disk/);
  const nowhere = settingsOf({ DATA_DIR: '/proc/darkroom' });
  finds(t, (await checkDisk(nowhere)).slice(0, 1), 'problem', /cannot be written/, /may write/);
  finds(
    t,
    await checkTemporaryFolder('/proc'),
    'problem',
    /temporary files \(\/proc\) cannot be written/,
    /TMPDIR/,
  );
  t.match(await checkTemporaryFolder(t.testdir()), [{ state: 'ok' }]);
  const missing = join(t.testdir(), 'not', 'there');
  t.ok((await checkDisk(settingsOf({ DATA_DIR: missing }))).every(({ message }) => !/cannot/.test(message)));
  await t.rejects(promisify(execFile)('ls', [missing]), 'and nothing was made');
});

t.test('faults of MongoDB are found', async (t) => {
  const primary = { setName: 'rs0', isWritablePrimary: true, maxWireVersion: 21 };
  t.ok(mongoServerFindings(primary).every(({ state }) => state === 'ok'));
  finds(
    t,
    mongoServerFindings({ isWritablePrimary: true, maxWireVersion: 21 }),
    'warning',
    /single server/,
    /replica set/,
  );
  finds(
    t,
    mongoServerFindings({ ...primary, isWritablePrimary: false }),
    'problem',
    /no writes/,
    /whole replica set/,
  );
  finds(t, mongoServerFindings({ ...primary, maxWireVersion: 6 }), 'problem', /too old/, /6 or later/);
  const replicas = new MongoClient('mongodb://one:27017,two:27017/x?replicaSet=rs0&w=1');
  finds(t, [writeConcernFinding(replicas)], 'warning', /w=1/, /majority/);
  t.equal(writeConcernFinding(new MongoClient('mongodb://one:27017')).state, 'ok');
  const url = 'mongodb://127.0.0.1:1/x?serverSelectionTimeoutMS=200';
  const away = settingsOf({ REDIS_URL: 'redis://127.0.0.1:1', MONGODB_URL: url });
  finds(t, await checkMongo(away, now), 'problem', /does not answer/, /MONGODB_URL/);
});

t.test('a wrong S3 key is found', async (t) => {
  process.env.AWS_ACCESS_KEY_ID = 'wrong';
  process.env.AWS_SECRET_ACCESS_KEY = 'wrong';
  const refusal = '<Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist.</Message></Error>';
  const { url } = await serve(t, (request, response) => {
    request.resume();
    response.writeHead(403, { 'content-type': 'application/xml' }).end(refusal);
  });
  const settings = settingsOf({ S3_BUCKET: 'pictures', S3_ENDPOINT: url });
  finds(
    t,
    await checkObjectStore(settings),
    'problem',
    /bucket pictures does not work: .*key/i,
    /the key and its rights/,
  );
});

t.test('faults of the network are found', async (t) => {
  const { url: other } = await serve(t, (_request, response) => response.end('another service'));
  const elsewhere = settingsOf({ PUBLIC_URL: other, PORT: new URL(other).port });
  finds(t, await checkPublicUrl(elsewhere), 'problem', /not as this service does/, /HOST and PORT/);
  const down = settingsOf({ PUBLIC_URL: 'http://127.0.0.1:59999', PORT: '59999' });
  const [reached] = await checkPublicUrl(down);
  t.match(reached, {
    state: 'warning',
    message: /cannot be reached from here: .*ECONNREFUSED/,
    remedy: /first time/,
  });
  finds(
    t,
    [reverseProxyFinding(new URL('https://a.test'), 3000, '')],
    'warning',
    /through a proxy/,
    /TRUST_PROXY/,
  );
  for (const all of ['0.0.0.0/0', '::/0'])
    t.throws(() => settingsOf({ TRUST_PROXY: `10.0.0.1,${all}` }), {
      message: /TRUST_PROXY .* trusts everybody/,
    });
  const open = settingsOf({ OUTBOUND_ALLOWED_SUBNETS: '169.254.0.0/16' });
  finds(t, outboundNetworkFindings(open, {}), 'problem', /169\.254\.0\.0\/16/, /private networks/);
  finds(
    t,
    outboundNetworkFindings(settingsOf({ OUTBOUND_ALLOW_HTTP: 'true' }), {}),
    'warning',
    /plain http/,
    /false/,
  );
  finds(
    t,
    outboundNetworkFindings(settingsOf({}), { HTTPS_PROXY: 'http://p:1' }),
    'warning',
    /HTTPS_PROXY/,
    /without a proxy/,
  );
  const mute = createTcpServer((socket) => socket.end('421 no\r\n'));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  t.teardown(() => mute.close());
  const SMTP_URL = `smtp://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const mail = settingsOf({ SMTP_URL, MAIL_FROM: 'darkroom@example.com' });
  finds(t, await checkMail(mail), 'problem', /mail server/, /SMTP_URL/);
});

t.test('an address of a model provider that nobody answers at is found', async (t) => {
  const dead = settingsOf({ OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' });
  finds(
    t,
    await checkProviders(dead),
    'problem',
    /OPENAI_BASE_URL .* does not answer/,
    /correct OPENAI_BASE_URL/,
  );
  const { url } = await serve(t, (_request, response) => response.writeHead(401).end());
  t.match(await checkProviders(settingsOf({ OPENAI_BASE_URL: url })), [{ state: 'ok', message: /answers/ }]);
  t.match(await checkProviders(settingsOf({})), [{ state: 'ok' }]);
});

t.test('faults of browsers and the allocator are found', async (t) => {
  finds(
    t,
    [browserSandboxFinding('the kernel grants no user namespaces', 'auto')],
    'warning',
    /without/,
    /user namespaces/,
  );
  const found = await checkBrowser(settingsOf({ BROWSER_PATH: '/nowhere/chromium' }));
  finds(t, found.slice(0, 1), 'problem', /there is no program there/, /Correct BROWSER_PATH/);
  finds(
    t,
    [allocatorFinding(settingsOf({ ALLOCATOR: '/nowhere/lib.so' }))],
    'problem',
    /ALLOCATOR/,
    /Leave ALLOCATOR/,
  );
});

t.test('the command prints every look, tells programs in JSON, and exits 1 on a problem', async (t) => {
  const doctor = (environment: Record<string, string>) => {
    const { MONGODB_URL, REDIS_URL, ...rest } = process.env;
    const env = { ...rest, DATA_DIR: t.testdir(), ...environment };
    const script = join(import.meta.dirname, '../../../src/host/doctor.ts');
    return promisify(execFile)(process.execPath, [script, '--json'], { env }).then(
      ({ stdout }) => ({ code: 0, ...JSON.parse(stdout) }),
      ({ code, stdout }) => ({ code, ...JSON.parse(stdout) }),
    );
  };
  const sick = await doctor({
    BROWSER_PATH: '/nowhere/chromium',
    ENV_FILE: '/nowhere/darkroom.env',
    IMAGE_THREDS: '2',
  });
  t.match(sick, { code: 1, isWell: false });
  t.same(
    sick.examinations.map(({ name }: { name: string }) => name),
    [
      'settings',
      'host',
      'allocator',
      'disk',
      'delivery',
      'browser',
      'redis',
      'hosts',
      'mongodb',
      'objects',
      'ports',
      'address',
      'outbound',
      'mail',
      'providers',
      'traces',
    ],
  );
  t.match(sick.examinations[0].findings, [
    { state: 'warning', message: /no file \/nowhere\/darkroom\.env, which ENV_FILE names/ },
    { state: 'warning', message: /no setting IMAGE_THREDS.*IMAGE_THREADS\?/ },
  ]);
  const unreadable = await doctor({ PROCESSES: 'many' });
  t.match(unreadable, {
    code: 1,
    examinations: [{ name: 'settings', findings: [{ message: /^PROCESSES is "many"/ }] }],
  });
});
