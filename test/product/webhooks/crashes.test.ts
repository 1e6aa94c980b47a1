// needs: both stores
import t, { type Test } from 'tap';
import { MAX_DELIVERY_ATTEMPTS } from '../../../src/product/webhooks/deliveries/attempt.ts';
import { redeliverFailedEvents } from '../../../src/product/webhooks/deliveries/routes.ts';
import { releaseEndpointsByHolder } from '../../../src/product/webhooks/deliveries/schedule.ts';
import { DeliveriesStore, newDelivery } from '../../../src/product/webhooks/deliveries/store.ts';
import {
  type EndpointDocument,
  EndpointsStore,
  MAX_CONSECUTIVE_FAILURES,
} from '../../../src/product/webhooks/endpoints/store.ts';
import { type Death, dyingStores } from '../../support/dying.ts';
import { openTestStores } from '../../support/harness.ts';
import { addEndpoint, newAccountId, startProcess } from './processes.ts';
import { eventually, outcome, startReceiver } from './receiver.ts';

const stores = await openTestStores(t.testdir(), () => new Date());
t.teardown(() => stores.close());
const MAX_CHANGES = 40;
/** Until an event in the outbox counts as left behind. */
const LEFT_BEHIND_MS = 5_000;
/** Until a mail that was claimed and not sent is tried again. */
const NOTICE_AGAIN_MS = 11 * 60_000;

/** Runs a process to its death and what it leaves to another one, for every change it makes, before and after it. */
async function atEveryChange(t: Test, live: (t: Test, death: Death) => Promise<boolean>): Promise<void> {
  for (let change = 1; change <= MAX_CHANGES; change += 1) {
    const deaths = [];
    for (const moment of ['before', 'after'] as const) deaths.push(await live(t, { change, moment }));
    if (!deaths.includes(true)) return;
  }
  t.fail('there was no end of changes');
}

t.test(
  'a process that dies at any line loses no event, and repeats only the attempt in flight',
  async (t) => {
    const receiver = await startReceiver(t);
    await atEveryChange(t, async (t, death) => {
      const accountId = newAccountId();
      const { _id } = await addEndpoint(stores.documents, accountId, receiver.url);
      const mortal = dyingStores(stores, death);
      const dying = await startProcess(t, mortal);
      const [first, second] = [outcome(accountId, { sequence: 1 }), outcome(accountId, { sequence: 2 })];
      const isPromised = await dying.events.write([first, second]).then(
        () => true,
        () => false,
      );
      const arrived = () => receiver.received.filter(({ event }) => [first.id, second.id].includes(event.id));
      await eventually(async () => mortal.life.isOver || (await isSettled(accountId, _id, 2)));
      const isDead = mortal.life.isOver;

      const next = await startProcess(t, stores, () => new Date(Date.now() + LEFT_BEHIND_MS));
      await releaseEndpointsByHolder(stores.coordination, dying.prefix);
      // The writer of an event that was not promised writes it again, for it kept the id.
      if (!isPromised) await next.events.write([first, second]);
      await eventually(async () => {
        await next.sweep();
        return isSettled(accountId, _id, 2);
      });
      const ids = arrived().map(({ event }) => event.id);
      t.ok(
        ids.includes(first.id) && ids.includes(second.id),
        `${death.moment} change ${death.change}: both came`,
      );
      t.ok(ids.length <= (isDead ? 3 : 2), 'one at most came twice');
      await Promise.all([dying.stop(), next.stop()]);
      return isDead;
    });
  },
);

t.test(
  'a process that dies while it disables an endpoint counts no failure twice and closes the queue',
  async (t) => {
    const receiver = await startReceiver(t, (response) => response.writeHead(500).end());
    const endpoints = new EndpointsStore(stores.documents);
    const deliveries = new DeliveriesStore(stores.documents);
    await atEveryChange(t, async (t, death) => {
      const accountId = newAccountId();
      const endpoint = await addEndpoint(stores.documents, accountId, receiver.url);
      const { _id } = endpoint;
      for (let n = 1; n < MAX_CONSECUTIVE_FAILURES; n += 1)
        await endpoints.countFailure(accountId, _id, `whd_${n}`);
      const atItsLast = { ...queued(endpoint), attempts: MAX_DELIVERY_ATTEMPTS - 1, error: 'HTTP 500' };
      await deliveries.insert([atItsLast, queued(endpoint)]);

      const mortal = dyingStores(stores, death);
      const dying = await startProcess(t, mortal);
      await dying.sweep().catch(() => undefined);
      const isOver = async () => {
        const now = await endpoints.find(accountId, _id);
        return now?.enabled === false && now.noticeDueAt === undefined && isSettled(accountId, _id, 2);
      };
      await eventually(async () => mortal.life.isOver || (await isOver()));
      const isDead = mortal.life.isOver;
      const next = await startProcess(t, stores, () => new Date(Date.now() + NOTICE_AGAIN_MS));
      await releaseEndpointsByHolder(stores.coordination, dying.prefix);
      await eventually(async () => {
        await next.sweep();
        return isOver();
      });
      const ended = await endpoints.find(accountId, _id);
      t.match(ended, { consecutiveFailures: MAX_CONSECUTIVE_FAILURES, disabledReason: /HTTP 500/ });
      const { rows } = await deliveries.list(accountId, _id, {});
      t.equal(rows.filter(({ attempts }) => attempts === 0).length, 1, 'what was queued is closed unsent');
      await Promise.all([dying.stop(), next.stop()]);
      return isDead;
    });
  },
);

t.test('a process that dies while it sends failed events again has scheduled what it stored', async (t) => {
  const receiver = await startReceiver(t);
  const deliveries = new DeliveriesStore(stores.documents);
  const endpoint = await addEndpoint(stores.documents, newAccountId(), receiver.url);
  const { accountId, _id } = endpoint;
  const [batch, rest] = [100, 5];
  const failed = Array.from({ length: batch + rest }, () => {
    const { dueAt: _, ...delivery } = queued(endpoint);
    return { ...delivery, status: 'FAILED' as const };
  });
  await deliveries.insert(failed);
  const send = async ({ documents, coordination }: typeof stores) =>
    redeliverFailedEvents(endpoint, new Date(0), {
      deliveries: new DeliveriesStore(documents),
      coordination,
      now: () => new Date(),
    });
  // A batch is stored and scheduled, and the dispatchers are woken.
  const mortal = dyingStores(stores, { change: 4, moment: 'before' });
  await t.rejects(send(mortal), { message: /dead/ });
  const next = await startProcess(t, stores);
  await receiver.until(batch);
  await eventually(async () => (await deliveries.findNext(accountId, _id)) === null);
  t.equal(receiver.received.length, batch, 'without a sweep');
  t.same(
    await send(stores),
    { queued: rest, left: 0 },
    'the rest is queued when the caller repeats its call',
  );
  await receiver.until(failed.length);
  t.equal(
    new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size,
    failed.length,
    'none came twice',
  );
  await next.stop();
});

function queued(endpoint: EndpointDocument) {
  const { id: _id, data: _, ...event } = outcome(endpoint.accountId);
  return newDelivery({ ...event, _id, body: '{}' }, endpoint, new Date());
}

async function isSettled(accountId: string, endpointId: string, count: number): Promise<boolean> {
  const deliveries = new DeliveriesStore(stores.documents);
  const { rows } = await deliveries.list(accountId, endpointId, {});
  return rows.length === count && rows.every(({ status }) => status !== 'PENDING');
}
