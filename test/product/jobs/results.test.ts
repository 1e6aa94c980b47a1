// needs: server
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { resultFileName } from '../../../src/product/jobs/results.ts';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit } from './jobs.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 100 });
const other = await server.account();
const run = promisify(execFile);

const RED = { r: 200, g: 30, b: 30 };
const BLUE = { r: 30, g: 30, b: 200 };

async function upload(name: string, background: typeof RED): Promise<string> {
  const png = await sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .png()
    .toBuffer();
  const { json } = await server.call(`/assets/upload?name=${encodeURIComponent(name)}`, {
    key,
    body: new Uint8Array(png),
    type: 'image/png',
  });
  return json.data.id;
}

const assetIds = [await upload('Straße/1.png', RED), await upload('sky.large.png', BLUE)];

async function jobOf(t: Test, body: object): Promise<string> {
  const { status, json } = await submit(server, key, body);
  t.equal(status, 201, JSON.stringify(json));
  await ended(server, key, json.data.id);
  return json.data.id;
}

const SMALL = { op: 'resize', parameters: { width: 20, format: 'webp' } };

/** The files of an archive, unpacked by a program that is not ours. */
async function unpacked(t: Test, zip: Buffer): Promise<Map<string, Buffer>> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-zip-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'results.zip');
  await writeFile(file, zip);
  await run('python3', [
    '-c',
    'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])',
    file,
    join(folder, 'out'),
  ]);
  const names = await readdir(join(folder, 'out'));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, 'out', name))] as const)),
  );
}

async function namesIn(t: Test, path: string): Promise<string[]> {
  const { status, bytes } = await server.call(path, { key });
  t.equal(status, 200, path);
  return [...(await unpacked(t, bytes)).keys()].sort();
}

t.test('files are named by their variant too, safely', async (t) => {
  const variants = [
    { name: 's' },
    { name: '../m:1', parameters: { width: 30 } },
    { parameters: { width: 35 } },
  ];
  const jobId = await jobOf(t, { ...SMALL, variants, assetIds });
  t.same(await namesIn(t, `/jobs/${jobId}/results.zip`), [
    '0-Straße_1-s.webp',
    '1-Straße_1-.._m_1.webp',
    '2-Straße_1-2.webp',
    '3-sky.large-s.webp',
    '4-sky.large-.._m_1.webp',
    '5-sky.large-2.webp',
  ]);
  t.equal(resultFileName('0', [null, '\u202e\n/'], 'png'), '0-___.png');
  t.ok(resultFileName('0', ['a'.repeat(500), 'b'.repeat(500)], 'png').length < 255);
});

t.test('attempts=all is every completed item of a job and its resumes, by its first index', async (t) => {
  const ids = [...assetIds, await upload('third.png', { r: 1, g: 2, b: 3 })];
  const edit = { op: 'edit', model: 'sandbox-image', assetIds: ids };
  const first = await jobOf(t, { ...edit, prompt: 'Bluer [sandbox:reject@0,2]' });
  const resumed = await server.call(`/jobs/${first}/resume`, { key, method: 'POST' });
  t.equal(resumed.status, 201, JSON.stringify(resumed.json));
  const second = resumed.json.data.id;
  await ended(server, key, second);
  // In the second attempt, the item of index 1 is the third picture, and index 0 is rejected again.
  t.same(await namesIn(t, `/jobs/${first}/results.zip`), ['1-sky.large.png']);
  t.same(await namesIn(t, `/jobs/${second}/results.zip`), ['1-third.png']);
  for (const jobId of [first, second])
    t.same(await namesIn(t, `/jobs/${jobId}/results.zip?attempts=all`), ['1-sky.large.png', '2-third.png']);
  const { json } = await server.call(`/jobs/${second}/results/link`, { key });
  const path = json.data.url.slice(json.data.url.indexOf('/jobs/'));
  t.equal((await server.call(`${path}&attempts=all`, {})).status, 200, 'by a link too');
  const wrong = await server.call(`/jobs/${first}/results.zip?attempts=every`, { key });
  t.match([wrong.status, wrong.json.error.param], [400, 'attempts']);
});

t.test('all results of a job come as one archive, named by index and source', async (t) => {
  const jobId = await jobOf(t, { ...SMALL, assetIds });
  const { status, headers, bytes } = await server.call(`/jobs/${jobId}/results.zip`, { key });
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'application/zip');
  t.equal(headers.get('content-length'), String(bytes.length));
  t.match(headers.get('content-disposition'), `attachment; filename="${jobId}.zip"`);
  const files = await unpacked(t, bytes);
  t.same([...files.keys()].sort(), ['0-Straße_1.webp', '1-sky.large.webp']);
  for (const [name, background] of [
    ['0-Straße_1.webp', RED],
    ['1-sky.large.webp', BLUE],
  ] as const) {
    const image = sharp(files.get(name));
    t.match(await image.metadata(), { format: 'webp', width: 20, height: 15 });
    const [r, g, b] = await image.removeAlpha().raw().toBuffer();
    for (const [got, wanted] of [
      [r, background.r],
      [g, background.g],
      [b, background.b],
    ] as const)
      t.ok(Math.abs((got ?? 0) - wanted) < 12, `${name}: ${got} is nearly ${wanted}`);
  }
  const head = await server.call(`/jobs/${jobId}/results.zip`, { key, method: 'HEAD' });
  t.same([head.status, head.headers.get('content-length')], [200, String(bytes.length)]);
  const ranged = { range: 'bytes=0-9', 'if-none-match': '"other"' };
  const whole = await server.call(`/jobs/${jobId}/results.zip`, { key, method: 'HEAD', headers: ranged });
  t.same([whole.status, whole.headers.get('content-length')], [200, String(bytes.length)]);
  const known = { 'if-none-match': head.headers.get('etag') ?? '' };
  const same = await server.call(`/jobs/${jobId}/results.zip`, { key, method: 'HEAD', headers: known });
  t.same([same.status, same.headers.get('content-length')], [304, null]);
});

t.test('a download that broke off goes on by a range, and is the same archive', async (t) => {
  const jobId = await jobOf(t, { ...SMALL, assetIds });
  const path = `/jobs/${jobId}/results.zip`;
  const whole = await server.call(path, { key });
  const etag = whole.headers.get('etag') ?? '';
  const size = whole.bytes.length;
  const ranges: Array<[range: string, start: number, end: number]> = [
    ['bytes=0-9', 0, 9],
    [`bytes=${size - 50}-`, size - 50, size - 1],
    ['bytes=100-299', 100, 299],
    ['bytes=-22', size - 22, size - 1],
  ];
  for (const [range, start, end] of ranges) {
    const part = await server.call(path, { key, headers: { range, 'if-range': etag } });
    t.equal(part.status, 206, range);
    t.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${size}`);
    t.same(part.bytes, whole.bytes.subarray(start, end + 1), range);
  }
  const changed = await server.call(path, { key, headers: { range: 'bytes=5-', 'if-range': '"other"' } });
  t.same([changed.status, changed.bytes.length], [200, size], 'another archive is sent whole');
  const fresh = await server.call(path, { key, headers: { 'if-none-match': etag } });
  t.equal(fresh.status, 304);
});

t.test('results are read by a signed link without a credential, and by nobody else', async (t) => {
  const jobId = await jobOf(t, { ...SMALL, assetIds });
  const { json } = await server.call(`/jobs/${jobId}/results/link?expiresIn=60`, { key });
  const { url } = json.data as { url: string };
  const path = `//${new URL(url).pathname.slice(1)}${new URL(url).search}`;
  const linked = await server.call(path);
  t.equal(linked.status, 200);
  t.equal((await unpacked(t, linked.bytes)).size, 2);
  const forged = await server.call(path.replace(/signature=./, 'signature=!'));
  t.match([forged.status, forged.json.error.details], [403, { reason: 'link_invalid' }]);
  t.equal((await server.call(`/jobs/${jobId}/results.zip`)).status, 401);
  const foreign = await server.call(`/jobs/${jobId}/results.zip`, { key: other.key });
  t.match([foreign.status, foreign.json.error.code], [404, 'job_not_found']);
  const foreignLink = await server.call(`/jobs/${jobId}/results/link`, { key: other.key });
  t.equal(foreignLink.status, 404);
});

t.test('results that were deleted are left out, and a job without any says so', async (t) => {
  const jobId = await jobOf(t, { ...SMALL, assetIds });
  const { items } = (await server.call(`/jobs/${jobId}`, { key })).json.data;
  await server.call(`/assets/${items[0].resultAssetId}`, { key, method: 'DELETE' });
  const { bytes } = await server.call(`/jobs/${jobId}/results.zip`, { key });
  t.same([...(await unpacked(t, bytes)).keys()], ['1-sky.large.webp']);
  await server.call(`/assets/${items[1].resultAssetId}`, { key, method: 'DELETE' });
  const empty = await server.call(`/jobs/${jobId}/results.zip`, { key });
  t.match([empty.status, empty.json.error], [400, { code: 'invalid_state', param: 'jobId' }]);
});

t.test('a job that ended without a picture gets no link to its results', async (t) => {
  const compared = { op: 'compare', assetIds, parameters: { otherAssetId: assetIds[0] } };
  const jobId = await jobOf(t, compared);
  const { status, json } = await server.call(`/jobs/${jobId}/results/link`, { key });
  t.match([status, json.error], [400, { code: 'invalid_state', param: 'jobId', message: /no picture/ }]);
});

t.test('a job that has not ended is refused with its status', async (t) => {
  const body = { op: 'generate', prompt: '[sandbox:wait=30000]' };
  const { json } = await submit(server, key, body);
  const early = await server.call(`/jobs/${json.data.id}/results.zip`, { key });
  t.equal(early.status, 400);
  t.match(early.json.error, { code: 'invalid_state', details: { status: /PENDING|PROCESSING/ } });
  await server.call(`/jobs/${json.data.id}/cancel`, { key, method: 'POST' });
});

t.test(
  'the name of a file holds nothing that a file system or an unpacker could take for a path',
  async (t) => {
    const names: Array<[sourceName: string | null, name: string]> = [
      [null, '7.jpg'],
      ['beach.heic', '7-beach.jpg'],
      ['../../etc/passwd', '7-.._.._etc_passwd.jpg'],
      ['a\\b:c*?.png', '7-a_b_c__.jpg'],
      ['\u202Egnp.exe', '7-_gnp.jpg'],
      ['x'.repeat(300), `7-${'x'.repeat(100)}.jpg`],
    ];
    for (const [sourceName, name] of names)
      t.equal(resultFileName('7', [sourceName, undefined], 'jpeg'), name);
  },
);
