// needs: server
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { wrapMethods } from '../../../src/platform/stores/store-timeout.ts';
import { AccountAdministration } from '../../../src/product/accounts/operator.ts';
import { AccountsStore } from '../../../src/product/accounts/store.ts';
import { startServer, type TestAccount, type TestServer } from '../../support/harness.ts';
import { until } from '../../support/whole-service.ts';
import { openDelivering, type SigningKey, signed } from './delivering.ts';

const directories = await Promise.all(
  ['here', 'there'].map((name) => mkdtemp(join(tmpdir(), `ends-${name}-`))),
);
t.teardown(() => Promise.all(directories.map((one) => rm(one, { recursive: true, force: true }))));
const [here = '', there = ''] = directories;
const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
const now = () => new Date(clock.nowMs);
/** What has ended counts as a wrong credential. */
const PATIENT = { FAILED_AUTHENTICATIONS_PER_MINUTE: '1000' };
const { server } = await openDelivering(t, { settings: { ...PATIENT, DATA_DIR: here }, now });
const { stores } = server;
/** Another process of the host. */
const second = await startServer(t, { settings: { ...PATIENT, DATA_DIR: here }, now, stores });
/** A host that no message reaches. */
const deaf = {
  ...wrapMethods(stores.coordination, () => (step) => step()),
  subscribe: async () => () => undefined,
};
const startDistant = () =>
  startServer(t, {
    ...{ settings: { ...PATIENT, DATA_DIR: there }, now, hostId: 'distant' },
    stores: { ...stores, coordination: deaf },
  });
const distant = await startDistant();
const hosts: TestServer[] = [server, second, distant];

const DRAWING =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';

interface Shown {
  account: TestAccount;
  key: SigningKey;
  assetId: string;
  preset: string;
  path: string;
}

/** A picture of a preset of a new account that every process has in memory and on its disk. */
async function show(exp?: number): Promise<Shown> {
  const account = await server.account();
  const of = (path: string, json: object) => server.call(path, { key: account.key, json });
  const key = (await of('/signing-keys', { name: 'Shop' })).json.data;
  const steps = [{ op: 'resize', parameters: { width: 5 } }];
  const preset = (await of('/presets', { name: 'Small', steps })).json.data.slug;
  const upload = { key: account.key, body: DRAWING, type: 'image/svg+xml' };
  const assetId = (await server.call('/assets/upload', upload)).json.data.id;
  const message = `${preset}@1/${assetId}.png`;
  const path = signed(key, message, message, exp);
  for (const host of hosts)
    for (let call = 0; call < 2; call += 1) t.equal((await host.call(`/${path}`)).status, 200);
  return { account, key, assetId, preset, path };
}

const statuses = (path: string) =>
  Promise.all(
    hosts.map(async (host) => {
      const known = await host.call(`/${path}`, { headers: { 'if-none-match': '*' } });
      const head = await host.call(`/${path}`, { method: 'HEAD' });
      return [known.status, head.status, (await host.call(`/${path}`)).status];
    }),
  );
const GONE = Array.from({ length: 3 }, () => [404, 404, 404]);

async function keptOf({ account }: Shown, directory: string): Promise<number> {
  const folder = join(directory, 'delivery', account.id);
  if (!existsSync(folder)) return 0;
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile()).length;
}
const isKept = (shown: Shown, directory: string) => until(async () => (await keptOf(shown, directory)) === 1);
const isForgotten = (shown: Shown) => until(async () => (await keptOf(shown, here)) === 0);

const operator = async () =>
  new AccountAdministration({
    store: new AccountsStore(stores.documents),
    coordination: stores.coordination,
    now,
  });

t.test('a revoked key answers nothing one second later', async (t) => {
  const { account, key, path } = await show();
  await server.call(`/signing-keys/${key.id}`, { method: 'DELETE', key: account.key });
  clock.nowMs += 1_000;
  t.same(await statuses(path), GONE);
});

t.test('an address ends on every host at its second', async (t) => {
  const { path } = await show(clock.nowMs / 1_000 + 10);
  clock.nowMs += 10_000;
  t.same(await statuses(path), GONE);
});

t.test('a deleted version of a preset answers nothing one second later, and leaves nothing', async (t) => {
  const shown = await show();
  const { account, preset, path } = shown;
  await isKept(shown, here);
  const steps = [{ op: 'resize', parameters: { width: 6 } }];
  await server.call(`/presets/${preset}`, { method: 'PUT', key: account.key, json: { steps } });
  t.equal((await server.call(`/${path}`)).status, 200, 'an earlier version stays');
  await server.call(`/presets/${preset}/versions/1`, { method: 'DELETE', key: account.key });
  clock.nowMs += 1_000;
  t.same(await statuses(path), GONE);
  await isForgotten(shown);
});

t.test('a deleted preset leaves the pictures of others', async (t) => {
  const shown = await show();
  const { account, key, assetId, preset, path } = shown;
  const other = `grayscale/${assetId}.png`;
  t.equal((await server.call(`/${signed(key, other, other)}`)).status, 200);
  await server.call(`/presets/${preset}`, { method: 'DELETE', key: account.key });
  clock.nowMs += 1_000;
  t.same(await statuses(path), GONE);
  await until(async () => (await keptOf(shown, here)) === 1);
  t.equal((await server.call(`/${signed(key, other, other)}`)).status, 200);
});

t.test(
  'a deleted asset is gone one second later here, and half a minute later on a host that was not told',
  async (t) => {
    const shown = await show();
    const { account, assetId, path } = shown;
    await server.call(`/assets/${assetId}`, { method: 'DELETE', key: account.key });
    clock.nowMs += 1_000;
    t.same((await statuses(path)).slice(0, 2), GONE.slice(0, 2));
    clock.nowMs += 29_000;
    t.same(await statuses(path), GONE);
    await isForgotten(shown);
  },
);

t.test('an asset that goes while its picture is made is answered as one that never was', async (t) => {
  const [plain, falling] = [await show(), await show()];
  const of = (path: string, call: object) => server.call(path, { key: falling.account.key, ...call });
  const other = DRAWING.replaceAll('"9"', '"8"');
  const fallback = (await of('/assets/upload', { body: other, type: 'image/svg+xml' })).json.data.id;
  const steps = [{ op: 'resize', parameters: { width: 3 } }];
  const json = { name: 'Falling', steps, fallback: { assetId: fallback, status: 200 } };
  const { slug } = (await of('/presets', { json })).json.data;
  for (const { account, assetId } of [plain, falling])
    await server.call(`/assets/${assetId}`, { method: 'DELETE', key: account.key });
  // This host believes for a while that the assets are there.
  const on = ({ key }: Shown, path: string) => distant.call(`/${signed(key, path, path)}`);
  const gone = await on(plain, `resize:width=7/${plain.assetId}.png`);
  const { code, param, details } = gone.json.error;
  t.same([gone.status, code, param, details], [404, 'not_found', undefined, undefined]);
  t.equal(gone.headers.get('cache-control'), 'public, max-age=10');
  const instead = await on(falling, `${slug}@1/${falling.assetId}.png`);
  t.same([instead.status, instead.headers.get('cache-control')], [200, 'no-store']);
});

t.test('an account that is suspended or deleted answers nothing one second later', async (t) => {
  const shown = await show();
  const { account, path } = shown;
  await isKept(shown, here);
  await (await operator()).suspend(account.id);
  clock.nowMs += 1_000;
  t.same(await statuses(path), GONE);
  t.equal(await keptOf(shown, here), 1, 'it may be resumed');
  await (await operator()).resume(account.id);
  clock.nowMs += 1_000;
  t.same(
    await statuses(path),
    Array.from({ length: 3 }, () => [304, 200, 200]),
  );
  await (await operator()).close(account.id);
  clock.nowMs += 1_000;
  t.same(await statuses(path), GONE);
  await isForgotten(shown);
});

t.test(
  'what a host was not told of is served no more after half a minute, and goes in a sweep',
  async (t) => {
    const [asset, preset, closed, left] = [await show(), await show(), await show(), await show()];
    for (const shown of [asset, preset, closed, left]) await isKept(shown, there);
    await server.call(`/assets/${asset.assetId}`, { method: 'DELETE', key: asset.account.key });
    const steps = [{ op: 'resize', parameters: { width: 6 } }];
    await server.call(`/presets/${preset.preset}`, {
      method: 'PUT',
      key: preset.account.key,
      json: { steps },
    });
    await server.call(`/presets/${preset.preset}/versions/1`, { method: 'DELETE', key: preset.account.key });
    await (await operator()).close(closed.account.id);
    clock.nowMs += 30_000;
    /** It has the files on its disk, and nothing in memory. */
    const restarted = await startDistant();
    for (const { path } of [asset, preset, closed])
      for (const host of [distant, restarted]) t.equal((await host.call(`/${path}`)).status, 404);
    await distant.sweep();
    const kept = await Promise.all([asset, preset, closed, left].map((shown) => keptOf(shown, there)));
    t.same(kept, [0, 0, 0, 1]);
    for (const host of [distant, restarted]) t.equal((await host.call(`/${left.path}`)).status, 200);
  },
);
