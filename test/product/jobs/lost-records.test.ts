// needs: server, both stores
import t, { type Test } from 'tap';
import type { Coordination } from '../../../src/platform/stores/coordination/port.ts';
import { startServer } from '../../support/harness.ts';
import { holdableStores } from './blocking-stores.ts';
import { ended, uploadPictures } from './jobs.ts';
import { LONG_AFTER_MS, openSharedClockStores } from './shared-clock-stores.ts';

const DAY_MS = 24 * 60 * 60_000;

const { stores, now, move } = await openSharedClockStores(t);
const held = holdableStores(stores);
const records = forgetful(stores.coordination);
const server = await startServer(t, { stores: { ...held.stores, coordination: records.coordination }, now });
const account = await server.account({ credits: 1_000 });
const { key } = account;
const [asset = ''] = await uploadPictures(server, account, 1);
const flip = { op: 'flip', assetIds: [asset] };
const rejected = { op: 'edit', model: 'sandbox-image', prompt: '[sandbox:reject]', assetIds: [asset] };

/** Coordination that can lose its records of Idempotency-Keys, as a Redis does that is flushed. */
function forgetful(whole: Coordination) {
  let losses = 0;
  const named = (name: unknown) =>
    name === 'beginIdempotent' || name === 'keepIdempotent' || name === 'forgetIdempotent';
  const coordination = new Proxy(whole, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      if (!named(name)) return method.bind(target);
      return (record: string, ...rest: unknown[]) => method.call(target, `${losses}/${record}`, ...rest);
    },
  });
  const lose = () => {
    losses += 1;
  };
  return { coordination, lose };
}

const send = (path: string, idempotencyKey: string, json?: object) =>
  server.call(path, { key, method: 'POST', json, headers: { 'idempotency-key': idempotencyKey } });

async function isReplay(t: Test, answer: Awaited<ReturnType<typeof send>>, jobId: string) {
  t.equal(answer.status, 201, JSON.stringify(answer.json));
  t.equal(answer.headers.get('idempotency-replayed'), 'true');
  t.equal(answer.json.data.id, jobId);
}

t.test(
  'a repeat of a submit that is under way is refused until it has answered, and no longer',
  async (t) => {
    const show = held.hold('jobs', /"phase":"open"/);
    const first = send('/jobs', 'under way', flip);
    await show.reached;
    records.lose();
    const early = await send('/jobs', 'under way', flip);
    t.equal(early.status, 409);
    t.match(early.json.error, { code: 'request_in_progress', retryable: true });
    show.release();
    const { json } = await first;
    await isReplay(t, await send('/jobs', 'under way', flip), json.data.id);
    await ended(server, key, json.data.id);
  },
);

t.test('a resume that is repeated is answered with the attempt that it made', async (t) => {
  const { json: root } = await send('/jobs', 'to resume', rejected);
  await ended(server, key, root.data.id);
  const first = await send(`/jobs/${root.data.id}/resume`, 'resume');
  t.equal(first.status, 201, JSON.stringify(first.json));
  records.lose();
  await isReplay(t, await send(`/jobs/${root.data.id}/resume`, 'resume'), first.json.data.id);
  const other = await send(`/jobs/${root.data.id}/resume`, 'another');
  t.match(other.json.error, { code: 'job_not_resumable', details: { reason: 'NOT_LATEST_ATTEMPT' } });
  await ended(server, key, first.json.data.id);
});

t.test('a key is free when its day is over', async (t) => {
  const first = await send('/jobs', 'daily', flip);
  await ended(server, key, first.json.data.id);
  move(DAY_MS);
  records.lose();
  const next = await send('/jobs', 'daily', { ...flip, wait: 30 });
  t.equal(next.status, 200, JSON.stringify(next.json));
  t.not(next.json.data.id, first.json.data.id);
  t.equal(next.headers.get('idempotency-replayed'), null);
  records.lose();
  const again = await send('/jobs', 'daily', { ...flip, wait: 30 });
  t.equal(again.json.data.id, next.json.data.id, 'the new job has the key');
});

t.test('a resume beside one that comes to nothing makes the attempt', async (t) => {
  const { json: root } = await send('/jobs', 'to resume twice', rejected);
  const { id } = root.data;
  await ended(server, key, id);
  const resume = () => server.call(`/jobs/${id}/resume`, { key, method: 'POST' });
  const show = held.hold('jobs', /"phase":"open"/);
  const stopped = resume();
  await show.reached;
  const early = await resume();
  t.equal(early.status, 409, JSON.stringify(early.json));
  t.match(early.json.error, { code: 'request_in_progress', retryable: true });
  move(LONG_AFTER_MS);
  const waiting = resume();
  await server.sweep();
  let made = await waiting;
  while (made.status === 409) made = await resume();
  t.equal(made.status, 201, JSON.stringify(made.json));
  t.match(made.json.data, { attemptNumber: 2, parentJobId: id });
  show.release();
  t.match((await stopped).json.error, { code: 'internal_error', retryable: true });
  const late = await resume();
  t.match(late.json.error, { code: 'job_not_resumable', details: { reason: 'NOT_LATEST_ATTEMPT' } });
  await ended(server, key, made.json.data.id);
});
