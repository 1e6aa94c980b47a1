// needs: server
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import sharp from 'sharp';
import t from 'tap';
import { ACCOUNTS_COLLECTION } from '../../../src/product/accounts/store.ts';
import { ASSETS_COLLECTION } from '../../../src/product/assets/store.ts';
import { startServer, type TestServer } from '../../support/harness.ts';
import { serve } from '../../support/loopback.ts';
import { until } from '../../support/whole-service.ts';
import { openDelivering, signed, twoHalves } from './delivering.ts';

const directory = await mkdtemp(join(tmpdir(), 'delivery-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));
const kept = join(directory, 'delivery');
const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
const settings = { DATA_DIR: directory, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
const now = () => new Date(clock.nowMs);
const delivering = await openDelivering(t, { settings, now });
const { server, account, assetId, key, address, runs } = delivering;
/** The runs of the account, when these processes have stored what they counted. */
async function runsSeenBy(...processes: TestServer[]): Promise<number> {
  for (const process of processes) await process.call('/account', { key: account.key });
  return runs();
}
/** Another process of the same host, or the same one after a restart. */
const another = () => startServer(t, { settings, now, stores: server.stores });

async function filesOf(group: string): Promise<string[]> {
  const folder = join(kept, account.id, group);
  return existsSync(folder) ? (await readdir(folder)).map((name) => join(folder, name)) : [];
}

t.test('equal requests to two processes at once are one run', async (t) => {
  const other = await another();
  const before = await runs();
  const path = address(`resize:width=111/${assetId}.webp`);
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? server : other).call(`/${path}`)),
  );
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size, 1);
  t.equal(await runsSeenBy(other), before + 1);
});

t.test('a kept picture survives a restart, and a damaged one is made anew', async (t) => {
  const path = address(`resize:width=60;grayscale/${assetId}.png`);
  const { bytes } = await server.call(`/${path}`);
  // The picture is answered before it is kept, beside that of the test before.
  await until(async () => (await filesOf(assetId)).length === 2);
  const before = await runs();
  const restarted = await another();
  t.same((await restarted.call(`/${path}`)).bytes, bytes);
  t.equal(await runsSeenBy(restarted), before, 'from the disk');
  for (const file of await filesOf(assetId)) {
    const damaged = await readFile(file);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
    await writeFile(file, damaged);
  }
  const corrected = await another();
  t.same((await corrected.call(`/${path}`)).bytes, bytes);
  t.equal(await runsSeenBy(corrected), before + 1);
});

t.test('the first of a hundred equal readers may go halfway', async (t) => {
  const picture = await twoHalves();
  const asked = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const { url } = await serve(t, async (_request, response) => {
    asked.resolve();
    await opened.promise;
    response.writeHead(200, { 'content-type': 'image/png' }).end(picture);
  });
  const from = `url:${Buffer.from(`${url}/slow.png`).toString('base64url')}`;
  const path = signed(key, `resize:width=41/${from}.png`, `resize:width=41/${from}.png`);
  const before = await runs();
  const gone = new AbortController();
  const first = fetch(`${server.url}${path}`, { signal: gone.signal });
  await asked.promise;
  const others = Array.from({ length: 99 }, () => server.call(`/${path}`));
  gone.abort();
  await t.rejects(first);
  opened.resolve();
  const answers = await Promise.all(others);
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size, 1);
  t.equal(await runs(), before + 1);
});

t.test('a task that fails is the answer of all that wait for it, and the next one tries anew', async (t) => {
  const opened = Promise.withResolvers<void>();
  const source = { status: 500, reads: 0 };
  const picture = await twoHalves();
  const { url } = await serve(t, async (_request, response) => {
    source.reads += 1;
    await opened.promise;
    response.writeHead(source.status, { 'content-type': 'image/png' }).end(picture);
  });
  const from = `url:${Buffer.from(`${url}/failing.png`).toString('base64url')}`;
  const path = signed(key, `resize:width=42/${from}.png`, `resize:width=42/${from}.png`);
  const other = await another();
  const processes = [server, other];
  const before = await runs();
  const asked = Array.from({ length: 100 }, (_, index) => processes[index % 2]?.call(`/${path}`));
  // The servers run in this process, so its turns bring all requests to them.
  for (let turn = 0; turn < 500; turn += 1) await setImmediate();
  opened.resolve();
  const failed = await Promise.all(asked);
  t.same(new Set(failed.map((answer) => answer?.status)), new Set([503]));
  t.ok(source.reads < 20, `${source.reads} reads for a hundred answers`);
  source.status = 200;
  for (const process of processes) t.equal((await process.call(`/${path}`)).status, 200);
  t.equal(await runsSeenBy(other), before + 1);
});

t.test('two hosts make a picture twice at most, and once where they share a bucket', async (t) => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'delivery-host-'));
  t.teardown(() => rm(elsewhere, { recursive: true, force: true }));
  for (const [bucket, most, width] of [
    ['', 2, 120],
    ['pictures', 1, 121],
  ] as const) {
    const shared = { ...settings, S3_BUCKET: bucket };
    const hosts = [
      await startServer(t, { settings: shared, now, stores: server.stores, hostId: `a${bucket}` }),
      await startServer(t, {
        settings: { ...shared, DATA_DIR: elsewhere },
        ...{ now, stores: server.stores, hostId: `b${bucket}` },
      }),
    ];
    const before = await runs();
    const path = address(`resize:width=${width}/${assetId}.webp`);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => hosts[index % 2]?.call(`/${path}`)),
    );
    t.same(new Set(answers.map((answer) => answer?.status)), new Set([200]));
    t.equal(new Set(answers.map((answer) => answer?.bytes.toString('base64'))).size, 1);
    const made = (await runsSeenBy(...hosts)) - before;
    t.ok(made >= 1 && made <= most, `${made} runs`);
    for (const host of hosts) await host.drain(0);
  }
  const keys = await server.stores.objects.list('delivery/');
  t.equal(keys.filter(({ key: name }) => name.startsWith(`delivery/${account.id}/${assetId}/`)).length, 1);
});

t.test('a disk that keeps nothing costs no answer', async (t) => {
  const full = await mkdtemp(join(tmpdir(), 'delivery-full-'));
  t.teardown(() => rm(full, { recursive: true, force: true }));
  await writeFile(join(full, 'delivery'), 'no folder can be made here');
  const crowded = await openDelivering(t, { settings: { DATA_DIR: full } });
  const path = crowded.address(`resize:width=33/${crowded.assetId}.png`);
  const answers = await Promise.all(Array.from({ length: 20 }, () => crowded.get(path)));
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(await crowded.runs(), 1);
});

t.test('a picture goes with its asset, from the disk as well', async (t) => {
  const drawing =
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
  const uploaded = await server.call('/assets/upload', {
    key: account.key,
    body: drawing,
    type: 'image/svg+xml',
  });
  const { id } = uploaded.json.data;
  const path = address(`resize:width=5/${id}.png`);
  const other = await another();
  for (const process of [server, other]) t.equal((await process.call(`/${path}`)).status, 200);
  await until(async () => (await filesOf(id)).length === 1);
  await server.call(`/assets/${id}`, { method: 'DELETE', key: account.key });
  for (const process of [server, other]) t.equal((await process.call(`/${path}`)).status, 404);
});

t.test('a public address is read once an hour, and its picture outlives a failure', async (t) => {
  const picture = await twoHalves();
  const source = { status: 500, reads: 0 };
  const { url } = await serve(t, (_request, response) => {
    source.reads += 1;
    response.writeHead(source.status, { 'content-type': 'image/png' });
    response.end(source.status === 200 ? picture : 'no');
  });
  const from = `url:${Buffer.from(`${url}/a.png`).toString('base64url')}`;
  const path = signed(key, `resize:width=40/${from}.png`, `resize:width=40/${from}.png`);
  const before = await runs();
  const failed = await Promise.all(Array.from({ length: 5 }, () => server.call(`/${path}`)));
  t.same(new Set(failed.map(({ status }) => status)), new Set([503]), 'all get the failure');
  t.equal(failed[0]?.headers.get('cache-control'), 'no-store');
  t.ok(failed[0]?.headers.get('retry-after'));
  t.equal(await runs(), before, 'a failure is no run');
  source.status = 200;
  const made = await server.call(`/${path}`);
  t.equal(made.status, 200, 'the next one tries anew');
  t.equal((await sharp(made.bytes).metadata()).width, 40);
  t.equal(
    made.headers.get('cache-control'),
    'public, max-age=3600, stale-while-revalidate=86400, stale-if-error=604800',
  );
  const { reads } = source;
  const etag = made.headers.get('etag') ?? '';
  t.equal((await server.call(`/${path}`, { headers: { 'if-none-match': etag } })).status, 304);
  t.equal(source.reads, reads, 'kept for an hour');
  source.status = 500;
  clock.nowMs += 3_600_000;
  // The picture is answered before it is kept, and whoever asks until then is answered with it.
  await until(async () => {
    t.same((await server.call(`/${path}`)).bytes, made.bytes);
    return source.reads > reads;
  });
  clock.nowMs += 8 * 86_400_000;
  t.equal((await server.call(`/${path}`)).status, 503, 'not for ever');
});

t.test('a preset may answer another picture while the source is away', async (t) => {
  const steps = [{ op: 'resize', parameters: { width: 20 } }];
  const create = (json: object) => server.call('/presets', { key: account.key, json });
  const away = `url:${Buffer.from('http://127.0.0.1:9/a.png').toString('base64url')}`;
  const gone = `ast_${'0'.repeat(24)}`;
  const type = 'image/svg+xml';
  const body = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>';
  const lost: string = (await server.call('/assets/upload', { key: account.key, body, type })).json.data.id;
  const assets = server.stores.documents.collection<{ _id: string; objectKey: string }>(ASSETS_COLLECTION);
  await server.stores.objects.delete((await assets.findOne({ _id: lost }))?.objectKey ?? '');
  for (const status of [200, 404] as const) {
    const created = await create({ name: `Away ${status}`, steps, fallback: { assetId, status } });
    t.same(created.json.data.fallback, { assetId, status });
    for (const source of [away, gone, lost]) {
      const path = `${created.json.data.slug}@1/${source}.webp`;
      const answer = await server.call(`/${signed(key, path, path)}`);
      t.same([answer.status, answer.headers.get('cache-control')], [status, 'no-store'], path);
      t.match(await sharp(answer.bytes).metadata(), { width: 20, height: 10, format: 'webp' });
    }
  }
  const strange = await create({ name: 'Strange', steps, fallback: { assetId: gone, status: 200 } });
  t.same([strange.status, strange.json.error.param], [400, 'fallback.assetId']);
  const wrong = await create({ name: 'Wrong', steps, fallback: { assetId, status: 302 } });
  t.same([wrong.status, wrong.json.error.param], [400, 'fallback.status']);
});

t.test('what is spent is 402, which no cache keeps, and a kept picture stays free', async (t) => {
  const poor = await server.account({ plan: 'free' });
  const made = await server.call('/signing-keys', { method: 'POST', key: poor.key, json: {} });
  const type = 'image/png';
  const uploaded = await server.call('/assets/upload', { key: poor.key, body: await twoHalves(), type });
  const { id } = uploaded.json.data;
  const at = (width: number) => {
    const path = `resize:width=${width}/${id}.png`;
    return server.call(`/${signed(made.json.data, path, path)}`);
  };
  t.equal((await at(1)).status, 200);
  await runsSeenBy(server);
  const accounts = server.stores.documents.collection<{ _id: string; processing: object }>(
    ACCOUNTS_COLLECTION,
  );
  const period = now().toISOString().slice(0, 7);
  const processing = { period, used: 500, reservations: [] };
  await accounts.updateOne({ _id: poor.id }, { $set: { processing } });
  const refused = await at(2);
  t.same(
    [refused.status, refused.headers.get('cache-control')],
    [402, 'no-store'],
    JSON.stringify(refused.json),
  );
  t.equal((await at(1)).status, 200);
});

t.test('without a place a picture is 503 with a time, and the others are made', async (t) => {
  const crowded = await openDelivering(t, { settings: { IMAGE_QUEUE: '0', DELIVERY_CACHE_MEGABYTES: '0' } });
  const widths = Array.from({ length: 40 }, (_, index) => 10 + index);
  const answers = await Promise.all(
    widths.map((width) => crowded.get(crowded.address(`resize:width=${width};blur/${crowded.assetId}.png`))),
  );
  const refused = answers.filter(({ status }) => status === 503);
  t.ok(refused.length > 0 && refused.length < widths.length, `${refused.length} refused`);
  t.same(new Set(answers.map(({ status }) => status)), new Set([200, 503]));
  for (const { headers } of refused) {
    t.ok(Number(headers.get('retry-after')) >= 1);
    t.equal(headers.get('cache-control'), 'no-store');
  }
});
