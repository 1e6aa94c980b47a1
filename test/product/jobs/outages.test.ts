// needs: server, both stores, waits
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { StorageFullError, StoreUnavailableError } from '../../../src/platform/stores/documents/port.ts';
import { ItemsStore, JOB_ITEMS_COLLECTION } from '../../../src/product/jobs/items-store.ts';
import { startServer } from '../../support/harness.ts';
import { type Hook, hookedStores } from './hooked-stores.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const POLL_MS = 100;
const POLLS = 300;
const AWAY = () => Promise.reject(new StoreUnavailableError('The store is away.'));
const FULL = () => Promise.reject(new StorageFullError('The disk is full.'));

let hook: Hook = () => undefined;
const roomy = await startServer(t);
const server = await startServer(t, { stores: hookedStores(roomy.stores, (call) => hook(call)) });
const account = await server.account({ plan: 'free', credits: 1_000 });
const { key } = account;
const assetIds = await uploadPictures(server, account, 3);
const items = new ItemsStore(server.stores.documents, () => new Date());
// Only the one with the hook works on jobs.
await roomy.drain(0);

async function credits(): Promise<{ balance: number; held: number }> {
  const { balance, held } = (await server.call('/credits', { key })).json.data;
  return { balance, held };
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let poll = 0; poll < POLLS && !(await isSo()); poll += 1) await pause(POLL_MS);
}

async function isOver(jobId: string): Promise<boolean> {
  const { status } = (await server.call(`/jobs/${jobId}`, { key })).json.data;
  return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(status);
}

t.test('what waits for a store goes on as soon as it answers again, whatever its pause', async (t) => {
  const { json } = await submit(server, key, { op: 'flip', assetIds: [assetIds[0]] });
  await ended(server, key, json.data.id);
  const [item] = await items.findFirst(json.data.id, 1);
  if (item === undefined) throw new Error('The item is gone.');
  const hour = new Date(Date.now() + 3_600_000);
  const claimed = { queue: 'claimed', status: 'PROCESSING' };
  const store = server.stores.documents.collection<{ _id: string }>(JOB_ITEMS_COLLECTION);
  const change = (set: Record<string, unknown>) => store.updateOne({ _id: item._id }, { $set: set });
  await change(claimed);
  await items.retryLater(item, hour, 'tries');
  await items.endStoreWaits();
  t.same((await items.promote(10)).jobIds, [], 'a pause behind a try is kept');
  await change(claimed);
  await items.retryLater(item, hour, 'waits');
  await items.endStoreWaits();
  t.same((await items.promote(10)).jobIds, [json.data.id], 'a pause for want of a store ends');
  t.notOk('awaitsStore' in ((await items.findFirst(json.data.id, 1))[0] ?? {}), 'and is forgotten');
});

t.test('items wait for objects that cannot be read, and few are claimed meanwhile', async (t) => {
  let refused = 0;
  hook = ({ of, method }) => {
    if (of !== 'objects' || method !== 'read') return undefined;
    refused += 1;
    return AWAY();
  };
  const ids = Array.from({ length: 200 }, (_, index) => assetIds[index % assetIds.length]);
  const body = { op: 'resize', parameters: { width: 8 }, assetIds: ids };
  const { json } = await submit(server, key, body);
  const waitsLong = async () =>
    (await items.findFirst(json.data.id, 200)).some(({ waits = 0 }) => waits >= 3);
  await until(async () => (await waitsLong()) || (await isOver(json.data.id)));
  t.ok(refused < 100, `${refused} of 200 items came to the silent store`);
  hook = () => undefined;
  const job = await ended(server, key, json.data.id);
  t.match(job, { status: 'COMPLETED', completedItems: 200, failedItems: 0 });
  t.ok(
    (await items.findFirst(json.data.id, 200)).every(({ tries }) => tries === 0),
    'it was no try',
  );
});

for (const [name, refuse] of [
  ['a bucket that is away', AWAY],
  ['a disk that is full', FULL],
] as const) {
  t.test(`what a model answered stays in hand for ${name}, and is not asked for twice`, async (t) => {
    let refused = 0;
    hook = ({ of, method }) => {
      if (of !== 'objects' || method !== 'put') return undefined;
      refused += 1;
      return refused <= 4 ? refuse() : undefined;
    };
    const body = { op: 'edit', model: 'sandbox-image', prompt: name, assetIds: assetIds.slice(0, 1) };
    const { json } = await submit(server, key, body);
    const job = await ended(server, key, json.data.id);
    t.match(job, { status: 'COMPLETED', actualCredits: 12 });
    const [item] = await items.findFirst(json.data.id, 1);
    t.match(item, { epoch: 1, tries: 0 }, 'one claim made it');
    const assets = (await server.call(`/assets?jobId=${job.id}`, { key })).json.data;
    t.same(assets.length, 1);
    t.equal((await server.call(`/assets/${assets[0].id}/content`, { key })).status, 200);
  });
}

/** Ends the pause behind a try of the only item of a job, which is a minute behind a full disk. */
async function skipPause(jobId: string, tries: number): Promise<void> {
  const store = server.stores.documents.collection<{ _id: string }>(JOB_ITEMS_COLLECTION);
  const paused = async () =>
    (await items.findFirst(jobId, 1)).find((item) => item.queue === 'later' && item.tries === tries);
  await until(async () => (await paused()) !== undefined);
  const item = await paused();
  if (item === undefined) throw new Error(`The item does not pause behind try ${tries}.`);
  await store.updateOne({ _id: item._id }, { $set: { notBefore: new Date(0).toISOString() } });
  await server.sweep();
}

t.test('a pass that finds a full disk is tried again', async (t) => {
  let refused = 0;
  hook = ({ of, method }) => {
    if (of !== 'objects' || method !== 'put') return undefined;
    refused += 1;
    return refused <= 2 ? FULL() : undefined;
  };
  const body = { op: 'resize', parameters: { width: 9 }, assetIds: assetIds.slice(0, 1) };
  const { json } = await submit(server, key, body);
  for (const tries of [1, 2]) await skipPause(json.data.id, tries);
  t.match(await ended(server, key, json.data.id), { status: 'COMPLETED' });
  t.match(await items.findFirst(json.data.id, 1), [{ tries: 2 }]);
});

for (const moment of ['before', 'after'] as const) {
  t.test(`an outcome outlives documents that go away ${moment} it is written`, async (t) => {
    let lost = 0;
    hook = ({ of, method, text, run }) => {
      const decides = of === 'jobItems' && method === 'updateOne' && text.includes('"decided"');
      if (!decides || lost >= 3) return undefined;
      lost += 1;
      return moment === 'before' ? AWAY() : run().then(AWAY);
    };
    const prompt = `Outcomes, ${moment}`;
    const body = { op: 'edit', model: 'sandbox-image', prompt, assetIds: assetIds.slice(0, 1) };
    const { json } = await submit(server, key, body);
    const job = await ended(server, key, json.data.id);
    t.equal(lost, 3);
    t.match(job, { status: 'COMPLETED', actualCredits: 12 });
    const [item] = await items.findFirst(json.data.id, 1);
    t.match(item, { epoch: 1, tries: 0, deaths: 0 });
    const assets = (await server.call(`/assets?jobId=${job.id}`, { key })).json.data;
    t.same(assets.length, 1);
    t.equal((await server.call(`/assets/${assets[0].id}/content`, { key })).status, 200);
  });
}

t.test('a chain goes on behind a segment whose note was written and not answered', async (t) => {
  let lost = 0;
  hook = ({ of, method, text, run }) => {
    const notes = of === 'jobItems' && method === 'updateOne' && text.includes('"progress"');
    if (!notes || lost >= 2) return undefined;
    lost += 1;
    return run().then(AWAY);
  };
  const edit = { op: 'edit', model: 'sandbox-image', prompt: 'A chain' };
  const steps = [edit, { op: 'resize', parameters: { width: 8 } }];
  const { json } = await submit(server, key, { steps, assetIds: assetIds.slice(0, 1) });
  const job = await ended(server, key, json.data.id);
  t.equal(lost, 2);
  t.match(job, { status: 'COMPLETED', actualCredits: 12 });
  t.match(await items.findFirst(json.data.id, 1), [{ epoch: 1, tries: 0 }]);
});

t.test(
  'a submit that was answered 500 is undone as soon as its store is back, and its key runs',
  async (t) => {
    const before = await credits();
    let refused = 0;
    hook = ({ of, text }) => {
      const stores = of === 'jobDefinitions' || (of === 'jobs' && text.includes('"undone"'));
      if (!stores || refused >= 4) return undefined;
      refused += 1;
      return AWAY();
    };
    const json = { op: 'edit', model: 'sandbox-image', prompt: 'Keyed', assetIds: assetIds.slice(0, 1) };
    const call = { key, json, headers: { 'idempotency-key': 'a-key-of-an-outage' } };
    const first = await server.call('/jobs', call);
    t.match(first.json.error, { code: 'internal_error', details: { reason: 'store_unavailable' } });
    let repeated = first;
    await until(async () => {
      repeated = await server.call('/jobs', call);
      return repeated.status < 400;
    });
    t.equal(repeated.status, 201, JSON.stringify(repeated.json));
    t.match(await ended(server, key, repeated.json.data.id), { status: 'COMPLETED' });
    await until(async () => (await credits()).held === 0);
    t.same(await credits(), { balance: before.balance - 12, held: 0 });
  },
);
