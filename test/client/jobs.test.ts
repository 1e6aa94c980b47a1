// needs: nothing
import t from 'tap';
import type { Job } from '../../src/client/index.ts';
import { BUSY, type Got, ok, refused, standIn } from './stand-in.ts';

const JOB = { op: 'grayscale', assetIds: ['ast_1', 'ast_2'] };
const counts = { completedItems: 0, failedItems: 0, cancelledItems: 0 };
const pending = ok({ id: 'job_1', status: 'PENDING', ...counts }, { status: 201 });
const half = ok({ id: 'job_1', status: 'PROCESSING', ...counts, completedItems: 1 });
const done = ok({ id: 'job_1', status: 'COMPLETED', ...counts, completedItems: 2 });

const callsIn = (got: readonly Got[]) =>
  got.map(({ method, at }) => `${method} ${at.replace('/api/v1', '')}`);

t.test('run submits, waits for the end and tells each change once', async (t) => {
  const { client, got, waits } = standIn([pending, half, half, refused(503, BUSY), done]);
  const told: Array<Job['status']> = [];
  const job = await client.jobs.run(JOB, { onProgress: ({ status }) => told.push(status) });
  t.equal(job.status, 'COMPLETED');
  t.same(told, ['PROCESSING', 'COMPLETED']);
  const wait = 'GET /jobs/job_1?wait=2';
  t.same(callsIn(got), ['POST /jobs', wait, wait, wait, wait], 'the service holds the answer: no polling');
  t.equal(waits.length, 1, 'only the busy answer is waited for');
  t.same(JSON.parse(String(got[0]?.init.body)), JOB);

  const quiet = standIn([pending, done]);
  await quiet.client.jobs.run(JOB);
  t.same(callsIn(quiet.got), ['POST /jobs', 'GET /jobs/job_1?wait=30']);
});

t.test('an abort cancels the job', async (t) => {
  const controller = new AbortController();
  const abort = () => {
    controller.abort(new Error('enough'));
    return half.clone();
  };
  const { client, got } = standIn([pending, abort, ok({ id: 'job_1', status: 'CANCELLING' })]);
  await t.rejects(client.jobs.run(JOB, { signal: controller.signal }), { message: 'enough' });
  t.same(callsIn(got).at(-1), 'POST /jobs/job_1/cancel');
});

t.test('an abort during the submit cancels what it made; an abort before it sends nothing', async (t) => {
  const controller = new AbortController();
  const abort = () => {
    controller.abort(new Error('enough'));
    return pending.clone();
  };
  const { client, got } = standIn([abort, ok({ id: 'job_1', status: 'CANCELLED' })]);
  await t.rejects(client.jobs.run(JOB, { signal: controller.signal }), { message: 'enough' });
  t.same(callsIn(got), ['POST /jobs', 'POST /jobs/job_1/cancel']);
  await t.rejects(client.jobs.run(JOB, { signal: controller.signal }), { message: 'enough' });
  t.equal(got.length, 2);
});

t.test(
  'a wait that is aborted leaves the job, and a job that ended before the cancel is no error of it',
  async (t) => {
    const controller = new AbortController();
    const abort = () => {
      controller.abort(new Error('enough'));
      return half.clone();
    };
    const waiting = standIn([abort]);
    await t.rejects(waiting.client.jobs.wait('job_1', { signal: controller.signal }), { message: 'enough' });
    t.equal(waiting.got.length, 1);

    const second = new AbortController();
    const abortLater = () => {
      second.abort(new Error('enough'));
      return half.clone();
    };
    const over = refused(400, { code: 'invalid_state', retryable: false });
    const { client } = standIn([pending, abortLater, over]);
    await t.rejects(client.jobs.run(JOB, { signal: second.signal }), { message: 'enough' });
  },
);

t.test('a list is read page by page while it is iterated', async (t) => {
  const row = (id: string) => ({ id });
  const first = ok([row('a'), row('b')], { meta: { total: 3, page: 0, hasMore: true, nextCursor: 'c1' } });
  const last = ok([row('c')], { meta: { perPage: 2, hasMore: false, nextCursor: null } });
  const { client, got } = standIn([first, last]);
  const ids: string[] = [];
  for await (const { id } of client.jobs.list({ status: 'FAILED' })) ids.push(id);
  t.same(ids, ['a', 'b', 'c']);
  t.same(callsIn(got), ['GET /jobs?status=FAILED', 'GET /jobs?status=FAILED&cursor=c1']);

  const again = standIn([first, last]);
  t.match(await again.client.jobs.list().first(), { rows: [row('a'), row('b')], meta: { total: 3 } });
  t.equal(again.got.length, 1, 'the second page is not read for the first');
  const few = standIn([first, last]);
  t.match(await few.client.jobs.list().all(2), [row('a'), row('b')]);
  t.equal(few.got.length, 1);

  const numbered = ok([row('a')], { meta: { page: 0, perPage: 1, hasMore: true, nextCursor: null } });
  const end = ok([row('b')], { meta: { page: 1, perPage: 1, hasMore: false, nextCursor: null } });
  const similar = standIn([numbered, end]);
  t.equal((await similar.client.assets.list({ similarTo: 'ast_1' }).all()).length, 2);
  t.equal(
    similar.got[1]?.at,
    '/api/v1/assets?similarTo=ast_1&page=1',
    'a list without cursors goes by number',
  );
});

t.test('parts of a path are encoded, and never missing', async (t) => {
  const { client, got } = standIn([ok({})]);
  await client.presets.get('a/b@2');
  t.equal(got[0]?.at, '/api/v1/presets/a%2Fb%402');
  await t.rejects(async () => client.assets.delete(''), TypeError);
  t.equal(got.length, 1);
});
