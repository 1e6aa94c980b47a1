// needs: both stores
import t from 'tap';
import { EmbeddedCoordination } from '../../../src/platform/stores/coordination/embedded.ts';
import {
  DISPATCHER_WAKE_CHANNEL,
  ENDPOINT_SCHEDULE_KEY,
} from '../../../src/product/webhooks/deliveries/schedule.ts';
import { DeliveriesStore } from '../../../src/product/webhooks/deliveries/store.ts';
import { openTestStores } from '../../support/harness.ts';
import { addEndpoint, newAccountId, startProcess } from './processes.ts';
import { eventually, outcome, type Receiver, startReceiver } from './receiver.ts';

const stores = await openTestStores(t.testdir(), () => new Date());
t.teardown(() => stores.close());

const ENDPOINTS = 12;
const EVENTS = 25;

/** Receivers that say when two attempts to one of them overlap. */
async function startReceivers(t: Parameters<typeof startReceiver>[0]) {
  let overlaps = 0;
  const receivers = await Promise.all(
    Array.from({ length: ENDPOINTS }, () => {
      let open = 0;
      return startReceiver(t, (response, { event }) => {
        open += 1;
        if (open > 1) overlaps += 1;
        // Some answers take a while, so that a second attempt would find the first one under way.
        setTimeout(() => {
          open -= 1;
          response.end();
        }, Number(event.data.sequence) % 3);
      });
    }),
  );
  return { receivers, overlaps: () => overlaps };
}

function idsOf({ received }: Receiver): string[] {
  return received.map(({ event }) => event.id);
}

t.test(
  'two hosts make no attempt twice, overlap none of one endpoint and keep the order of outcomes',
  async (t) => {
    const hosts = [await startProcess(t, stores), await startProcess(t, stores, undefined, 'other-host')];
    const { receivers, overlaps } = await startReceivers(t);
    const expected = new Map<Receiver, string[]>();
    await Promise.all(
      receivers.map(async (receiver, index) => {
        const accountId = newAccountId();
        await addEndpoint(stores.documents, accountId, receiver.url);
        const at = Date.now() - 1_000;
        const events = Array.from({ length: EVENTS }, (_, sequence) =>
          // Several of one instant, which their sequence orders.
          outcome(accountId, {
            sequence,
            createdAt: new Date(at + (sequence >> 2)).toISOString(),
            data: { sequence },
          }),
        );
        expected.set(
          receiver,
          events.map(({ id }) => id),
        );
        // In any order, in one write: what is queued together leaves in the order of its outcomes.
        await hosts[index % 2]?.events.write(
          events.toSorted((a, b) => (a.id.slice(-1) < b.id.slice(-1) ? -1 : 1)),
        );
      }),
    );
    await Promise.all(receivers.map((receiver) => receiver.until(EVENTS)));
    for (const receiver of receivers) t.same(idsOf(receiver), expected.get(receiver));
    t.equal(overlaps(), 0);
    t.ok(
      receivers.every(({ received }) => received.every(({ headers }) => headers['service-attempt'] === '1')),
    );
  },
);

t.test('a lost schedule comes back from the documents, with what is due and what will be', async (t) => {
  const clock = { ms: Date.now() };
  const now = () => new Date(clock.ms);
  let status = 500;
  const receiver = await startReceiver(t, (response) => response.writeHead(status).end());
  const accountId = newAccountId();
  const { _id } = await addEndpoint(stores.documents, accountId, receiver.url);
  const host = await startProcess(t, stores, now);
  const event = outcome(accountId);
  await host.events.write([event]);
  const deliveries = new DeliveriesStore(stores.documents);
  const queued = await eventually(async () => {
    const next = await deliveries.findNext(accountId, _id);
    return next?.attempts === 1 && next;
  });
  await host.stop();
  // What a flush leaves: the documents, and a coordination that knows nothing.
  const coordination = new EmbeddedCoordination(stores.documents, () => clock.ms);
  const later = await startProcess(t, { documents: stores.documents, coordination }, now);
  status = 200;
  clock.ms = Date.parse(queued.dueAt) - 1;
  await later.sweep();
  const next = await coordination.claimDue(ENDPOINT_SCHEDULE_KEY, 1, 1, 'who looks on');
  t.same(next, { members: [], nextInMs: 1 }, 'scheduled for its instant, and not before');
  clock.ms += 1;
  await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
  await receiver.until(2);
  t.same(idsOf(receiver), [event.id, event.id]);
});

t.test('an endpoint with a long queue takes turns, and nothing of it is lost', async (t) => {
  const receiver = await startReceiver(t);
  const accountId = newAccountId();
  await addEndpoint(stores.documents, accountId, receiver.url);
  const host = await startProcess(t, stores);
  const events = Array.from({ length: 120 }, (_, sequence) => outcome(accountId, { sequence }));
  await host.events.write(events);
  await receiver.until(120);
  t.same(idsOf(receiver).toSorted(), events.map(({ id }) => id).toSorted());
});

t.test('a process that stops ends its attempts, and leaves the rest to others', async (t) => {
  const release: Array<() => void> = [];
  const receiver = await startReceiver(t, (response) => release.push(() => response.end()));
  const accountId = newAccountId();
  await addEndpoint(stores.documents, accountId, receiver.url);
  const stopping = await startProcess(t, stores);
  await stopping.events.write([outcome(accountId, { sequence: 1 }), outcome(accountId, { sequence: 2 })]);
  await receiver.until(1);
  const stopped = stopping.stop();
  release[0]?.();
  await stopped;
  t.equal(receiver.received.length, 1, 'it began no other attempt');
  await startProcess(t, stores);
  await receiver.until(2);
  release[1]?.();
  t.same(
    receiver.received.map(({ headers }) => headers['service-attempt']),
    ['1', '1'],
  );
});
