// needs: server, both stores
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { newId } from '../../src/platform/ids/ids.ts';
import { Sweeper, type SweepTask } from '../../src/platform/periodic-tasks.ts';
import { EmbeddedCoordination } from '../../src/platform/stores/coordination/embedded.ts';
import { openEmbeddedDocuments } from '../../src/platform/stores/documents/embedded/actor.ts';
import { BillingStore } from '../../src/product/billing/store.ts';
import { startServer } from '../support/harness.ts';
import { redSquare } from '../support/images.ts';
import { until } from '../support/whole-service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Sweepers of several processes over one coordination, on a clock that the test moves. */
async function startSweepers(t: Test, tasks: SweepTask[], intervalMs = 1) {
  const clock = { nowMs: 0 };
  const documents = openEmbeddedDocuments(':memory:');
  t.teardown(() => documents.close());
  const coordination = new EmbeddedCoordination(documents, () => clock.nowMs);
  let logged = '';
  const log = pino({}, { write: (line) => (logged += line) });
  const now = () => new Date(clock.nowMs);
  const sweeperOf = (owner: string, yields = () => false) =>
    new Sweeper({ coordination, owner, tasks, intervalMs, now, yields, log });
  return { clock, sweeperOf, logged: () => logged };
}

/** A task with a number of batches to clear. */
function pile(name: string, batches: number) {
  const task = {
    name,
    calls: 0,
    left: batches,
    async sweep() {
      task.calls += 1;
      if (task.left === 0) return 0;
      task.left -= 1;
      return 10;
    },
  };
  return task;
}

t.test('a round clears every task, batch by batch', async (t) => {
  const tasks = [pile('one', 3), pile('two', 0), pile('three', 1)];
  const { sweeperOf } = await startSweepers(t, tasks);
  await sweeperOf('a').sweep();
  t.same(
    tasks.map(({ calls, left }) => [calls, left]),
    [
      [4, 0],
      [1, 0],
      [2, 0],
    ],
  );
});

t.test('a task without an end does not starve the next', async (t) => {
  const tasks = [pile('endless', Number.POSITIVE_INFINITY), pile('next', 1)];
  const { sweeperOf } = await startSweepers(t, tasks);
  await sweeperOf('a').sweep();
  t.equal(tasks[1]?.left, 0);
});

t.test('a process that yields sweeps until another one takes the task, which keeps it', async (t) => {
  const task = pile('task', Number.POSITIVE_INFINITY);
  const { sweeperOf } = await startSweepers(t, [task]);
  const [yielding, other] = [sweeperOf('off', () => true), sweeperOf('right')];
  yielding.start();
  await until(() => task.calls > 200);
  const takes = async () => {
    const before = task.calls;
    await other.sweep();
    return task.calls - before >= 100;
  };
  await until(takes);
  t.ok(await takes());
  await yielding.stop();
});

t.test('a task that fails is told and spares the others', async (t) => {
  const next = pile('next', 1);
  const broken = { name: 'broken', sweep: () => Promise.reject(new Error('no store')) };
  const { sweeperOf, logged } = await startSweepers(t, [broken, next]);
  await sweeperOf('a').sweep();
  t.equal(next.left, 0);
  t.match(logged(), /"task":"broken".*no store|no store.*"task":"broken"/);
});

t.test('one process sweeps at a time; another follows when it stops or dies', async (t) => {
  const task = pile('pile', 0);
  const { clock, sweeperOf } = await startSweepers(t, [task]);
  const [first, second, third] = [sweeperOf('a'), sweeperOf('b'), sweeperOf('c')];
  await first.sweep();
  await second.sweep();
  t.equal(task.calls, 1, 'the second leaves it to the first');
  await first.stop();
  await first.sweep();
  t.equal(task.calls, 1, 'one that was stopped sweeps no more');
  await second.sweep();
  t.equal(task.calls, 2, 'the second follows at once');
  await third.sweep();
  clock.nowMs += 60_001;
  await third.sweep();
  t.equal(task.calls, 3, 'the third follows when the second was not heard of');
});

t.test('rounds follow each other until the sweeper stops', async (t) => {
  const task = pile('pile', 0);
  const { sweeperOf } = await startSweepers(t, [task]);
  const sweeper = sweeperOf('a');
  sweeper.start();
  await until(() => task.calls >= 3);
  await sweeper.stop();
  const { calls } = task;
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  t.equal(task.calls, calls);
});

t.test('a server clears what has expired, and nothing else', async (t) => {
  const clock = { nowMs: Date.now() };
  const now = () => new Date(clock.nowMs);
  const server = await startServer(t, { now, settings: { SWEEP_INTERVAL_MS: '10' } });
  const { id, email, password, key } = await server.account({ plan: 'free', credits: 1 });
  const { documents, objects } = server.stores;
  const sessions = documents.collection({ name: 'sessions', indexes: [] });
  const billing = new BillingStore(documents);
  const [hours, days] = ['usageHours', 'usageDays'].map((name) =>
    documents.collection({ name, indexes: [] }),
  );

  await server.call('/auth/sign-in', { json: { email, password } });
  const query = 'op=flip&response=url';
  const body = await redSquare();
  const linked = await server.call(`/images/transform?${query}`, { key, body, type: 'image/png' });
  t.equal(linked.status, 200);
  const reservedUntil = new Date(clock.nowMs + 60_000).toISOString();
  const reservation = {
    id: newId('run'),
    period: now().toISOString().slice(0, 7),
    credits: 1,
    until: reservedUntil,
  };
  await billing.change(id, {}, { $inc: { held: 1 }, $push: { 'processing.reservations': reservation } });
  const left = async () => ({
    sessions: await sessions.count({ accountId: id }),
    usage: ((await hours?.count({ accountId: id })) ?? 0) + ((await days?.count({ accountId: id })) ?? 0),
    results: (await objects.listOlder('results/', Number.MAX_SAFE_INTEGER, 10)).length,
    held: (await billing.find(id))?.held,
  });
  await until(async () => (await left()).usage === 2);
  t.same(await left(), { sessions: 1, usage: 2, results: 1, held: 1 });

  clock.nowMs += 61_000;
  await until(async () => (await left()).held === 0);
  t.match(await left(), { sessions: 1, usage: 2, results: 1 });
  clock.nowMs += HOUR_MS;
  await until(async () => (await left()).results === 0);
  t.match(await left(), { sessions: 1, usage: 2 });
  clock.nowMs += 12 * HOUR_MS;
  await until(async () => (await left()).sessions === 0);
  t.match(await left(), { usage: 2 });
  clock.nowMs += 8 * DAY_MS;
  await until(async () => (await left()).usage === 0);
});
