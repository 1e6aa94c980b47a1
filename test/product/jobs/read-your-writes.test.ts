// needs: server, both stores
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { holdableStores, storesOfReader } from './blocking-stores.ts';
import { ended, submit, uploadPictures } from './jobs.ts';
import { openSharedClockStores } from './shared-clock-stores.ts';

const { stores, now } = await openSharedClockStores(t);
const held = holdableStores(stores);
// Two processes: one runs the jobs and stands still where it is told to, the other reads.
const worker = await startServer(t, { stores: held.stores, now });
const reader = await startServer(t, { stores: storesOfReader(stores), now });

const GRANTED = 100;
const CHARGE = /"reference":"charge\//;
const paid = { op: 'generate', model: 'sandbox-image', prompt: 'a red kite' };

/** A job that has ended, in a process that stands still before it moves the charge. */
async function endedUncharged(idempotencyKey = 'first') {
  const account = await worker.account({ credits: GRANTED });
  const { key } = account;
  const charge = held.hold('accounts', CHARGE);
  const headers = { 'idempotency-key': idempotencyKey };
  const { json, status } = await worker.call('/jobs', { key, json: { ...paid, wait: 0 }, headers });
  t.equal(status, 201, JSON.stringify(json));
  await charge.reached;
  return { account, key, jobId: json.data.id as string, charge };
}

type Call = (path: string, options?: { method?: string; json?: unknown }) => ReturnType<typeof reader.call>;

/** Each answer that tells of a job's end, and where in it that stands. */
const TELLING: Record<string, (call: Call, jobId: string) => Promise<string>> = {
  'the job': async (call, jobId) => (await call(`/jobs/${jobId}`)).json.data.status,
  'a wait for it': async (call, jobId) => (await call(`/jobs/${jobId}?wait=60`)).json.data.status,
  'its items': async (call, jobId) => (await call(`/jobs/${jobId}/items`)).json.data[0].status,
  'the list of jobs': async (call) => (await call('/jobs')).json.data[0].status,
  'the list of completed jobs': async (call) => (await call('/jobs?status=COMPLETED')).json.data[0].status,
  'the counts of jobs': async (call) => (await call('/jobs/counts')).json.data[0].status,
  'a cancel that is refused': async (call, jobId) =>
    (await call(`/jobs/${jobId}/cancel`, { method: 'POST' })).json.error.details.status,
  'a resume that is refused': async (call, jobId) =>
    (await call(`/jobs/${jobId}/resume`, { method: 'POST' })).json.error.details.status,
};

for (const [name, tell] of Object.entries(TELLING)) {
  t.test(`who is told by ${name} that a job has ended finds its charge moved`, async (t) => {
    const { key, jobId, charge } = await endedUncharged();
    const call: Call = (path, options) => reader.call(path, { key, ...options });
    t.equal(await tell(call, jobId), 'COMPLETED');
    const { data: credits } = (await call('/credits')).json;
    const { actualCredits } = (await call(`/jobs/${jobId}`)).json.data;
    t.ok(actualCredits > 0);
    t.match(credits, { balance: GRANTED - actualCredits, held: 0 });
    charge.release();
    await ended(worker, key, jobId);
    const after = await worker.call('/credits', { key });
    t.same(after.json.data, credits, 'the process that stood still moves nothing more');
    const { json } = await worker.call('/credits/ledger', { key });
    t.equal(json.data.filter(({ type }: { type: string }) => type === 'charge').length, 1);
  });
}

t.test('who is told by the usage what a job cost finds its charge moved', async (t) => {
  const { key, charge } = await endedUncharged();
  const { total } = (await reader.call('/usage', { key })).json.data;
  const { balance } = (await reader.call('/credits', { key })).json.data;
  t.ok(total.credits > 0);
  t.equal(balance, GRANTED - total.credits);
  charge.release();
});

t.test('the process that moves the charge tells nobody before it has', async (t) => {
  const { key, jobId, charge } = await endedUncharged();
  let isReleased = false;
  const reads = ['', '/items', '?wait=60'].map(async (rest) => {
    const { status } = await worker.call(`/jobs/${jobId}${rest}`, { key });
    t.ok(isReleased, `the read "${rest}" was answered behind the charge`);
    t.equal(status, 200);
  });
  // What another process reads meanwhile is answered: the reads above had their time.
  await reader.call('/account', { key });
  isReleased = true;
  charge.release();
  await Promise.all(reads);
});

t.test('items are chosen by the status that they are shown with', async (t) => {
  const account = await worker.account({ credits: GRANTED });
  const { key } = account;
  const assetIds = await uploadPictures(worker, account, 2);
  const decision = held.hold('jobItems', /\/1".*"queue":"decided"/);
  const finish = held.hold('jobItems', /\/0".*"\$unset":\{"queue":"","decidedAt":""/);
  const { json } = await submit(worker, key, { op: 'flip', assetIds });
  const { id: jobId } = json.data;
  await Promise.all([decision.reached, finish.reached]);
  const chosen = async (status: string) => {
    const { data, meta } = (await reader.call(`/jobs/${jobId}/items?status=${status}`, { key })).json;
    t.ok(data.every((item: { status: string }) => item.status === status));
    t.equal(meta.total, data.length);
    return data.map(({ index }: { index: number }) => index);
  };
  t.same(await chosen('PROCESSING'), [1]);
  t.same(await chosen('COMPLETED'), [0]);
  t.match((await reader.call(`/jobs/${jobId}`, { key })).json.data, { completedItems: 1 });
  decision.release();
  finish.release();
  t.match(await ended(worker, key, jobId), { status: 'COMPLETED', completedItems: 2 });
});
