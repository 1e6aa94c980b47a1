// needs: server
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { runCommand } from '../../../src/host/admin/commands.ts';
import { EmbeddedCoordination } from '../../../src/platform/stores/coordination/embedded.ts';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { startServer } from '../../support/harness.ts';
import { OPERATOR } from '../../support/operator.ts';
import { ended, uploadPictures } from './jobs.ts';

const server = await startServer(t);
const account = await server.account({ credits: 300 });
const { key } = account;
const [asset = ''] = await uploadPictures(server, account, 1);
const body = { op: 'flip', assetIds: [asset] };

const send = (path: string, idempotencyKey: string, json: unknown, on = server) =>
  on.call(path, { key, json, headers: { 'idempotency-key': idempotencyKey } });

async function total(): Promise<number> {
  return (await server.call('/jobs', { key })).json.meta.total;
}

t.test('a repeated submit is one job, answered as it was', async (t) => {
  const first = await send('/jobs', 'one', body);
  await ended(server, key, first.json.data.id);
  const again = await send('/jobs', 'one', body);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.same(again.json, first.json, 'verbatim, though the job has ended');
  const other = await send('/jobs', 'one', { ...body, op: 'flip', parameters: { axis: 'both' } });
  t.match(other.json.error, { code: 'idempotency_key_reuse' });
  t.equal(await total(), 1);
});

t.test('a repeated submit that waited is answered with the job as it is now', async (t) => {
  const waits = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=2500]', wait: 1 };
  const first = await send('/jobs', 'two', waits);
  t.equal(first.status, 202, JSON.stringify(first.json));
  t.equal(first.json.data.status, 'PROCESSING');
  await ended(server, key, first.json.data.id);
  const again = await send('/jobs', 'two', waits);
  t.equal(again.status, 200);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.match(again.json.data, { id: first.json.data.id, status: 'COMPLETED' });
});

t.test('a dry run ignores the key', async (t) => {
  t.equal((await send('/jobs?dryRun=true', 'three', body)).status, 200);
  t.equal((await send('/jobs', 'three', body)).status, 201, 'it is free still');
});

t.test('the job itself remembers its key, when all records of keys are lost', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-'));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  const coordination = new EmbeddedCoordination(documents, Date.now);
  t.teardown(async () => {
    await coordination.close();
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  });
  const forgetful = await startServer(t, { stores: { ...server.stores, coordination } });
  const before = await total();
  const first = await send('/jobs', 'four', body);
  const again = await send('/jobs', 'four', body, forgetful);
  t.equal(again.status, 201, JSON.stringify(again.json));
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.equal(again.json.data.id, first.json.data.id);
  t.match((await send('/jobs', 'four', { ...body, wait: 0 }, forgetful)).json.error, {
    code: 'idempotency_key_reuse',
  });
  t.equal(await total(), before + 1);
});

t.test('eight waits of an account are held, and the ninth is refused', async (t) => {
  const slow = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=4000]' };
  const { json } = await server.call('/jobs', { key, json: slow });
  const wait = () => server.call(`/jobs/${json.data.id}?wait=60`, { key });
  const answers = await Promise.all(Array.from({ length: 9 }, wait));
  const refused = answers.filter(({ status }) => status === 429);
  t.equal(refused.length, 1);
  t.match(refused[0]?.json.error, { code: 'rate_limited', details: { reason: 'account_concurrency' } });
  t.ok(refused[0]?.headers.get('retry-after'));
  t.equal(answers.filter(({ json: answer }) => answer.data?.status === 'COMPLETED').length, 8);
});

t.test('of an account and type two jobs run, and the oldest that waits is next', async (t) => {
  const slow = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=700]' };
  const ids: string[] = [];
  for (let index = 0; index < 4; index += 1) {
    ids.push((await server.call('/jobs', { key, json: slow })).json.data.id);
  }
  const statuses = async () =>
    Promise.all(ids.map(async (id) => (await server.call(`/jobs/${id}`, { key })).json.data));
  t.same(
    (await statuses()).map(({ status }) => status),
    ['PROCESSING', 'PROCESSING', 'PENDING', 'PENDING'],
  );
  await Promise.all(ids.map((id) => ended(server, key, id)));
  const ends = (await statuses()).map(({ completedAt }) => completedAt);
  t.same(ends, [...ends].sort(), 'they end in the order of their submits');
});

t.test('a wait without end of the job answers it as it stands', async (t) => {
  const slow = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=3000]' };
  const { json } = await server.call('/jobs', { key, json: slow });
  const { status, json: read } = await server.call(`/jobs/${json.data.id}?wait=1`, { key });
  t.equal(status, 200);
  t.equal(read.data.status, 'PROCESSING');
  t.equal((await server.call(`/jobs/${json.data.id}?wait=-3`, { key })).status, 200);
});

t.test('an operator sees what runs and waits, and cancels it', async (t) => {
  const slow = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=5000]', count: 2 };
  const { json } = await server.call('/jobs', { key, json: slow });
  const { id } = json.data;
  const context = {
    ...server.stores,
    planIds: [],
    publicUrl: 'http://127.0.0.1:3000',
    now: () => new Date(),
    ...OPERATOR,
  };
  const listed = await runCommand(['jobs', 'list', '--account', account.id], context);
  const [row] = (listed.data.jobs as Array<{ id: string }>).filter((job) => job.id === id);
  t.match(row, { accountId: account.id, op: 'generate', totalItems: 2 });
  t.match(listed.text, id);
  const stopped = Promise.withResolvers<string>();
  const unsubscribe = await server.stores.coordination.subscribe('jobs/stop', stopped.resolve);
  t.match((await runCommand(['jobs', 'cancel', id], context)).data, { jobId: id, status: 'CANCELLING' });
  await t.rejects(runCommand(['jobs', 'cancel', id], context), /CANCELLING: it cannot be cancelled/);
  t.equal(await stopped.promise, id, 'every process is told to take no more of its items');
  unsubscribe();
  t.match((await server.call(`/jobs/${id}`, { key })).json.data.status, /^CANCELL/);
});
