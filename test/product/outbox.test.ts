// needs: documents
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { newId } from '../../src/platform/ids/ids.ts';
import { EmbeddedCoordination } from '../../src/platform/stores/coordination/embedded.ts';
import { openEmbeddedDocuments } from '../../src/platform/stores/documents/embedded/actor.ts';
import type { OutboxEvent } from '../../src/product/events/event.ts';
import { ENDPOINTS_COLLECTION_NAME, EventOutbox } from '../../src/product/events/open.ts';

const AT = new Date('2026-05-04T03:02:01.000Z');

async function openRoom(t: Test) {
  const documents = openEmbeddedDocuments(join(t.testdir(), 'documents.sqlite'));
  const coordination = new EmbeddedCoordination(documents);
  const events = await EventOutbox.open({ documents, coordination });
  t.teardown(async () => {
    events.stop();
    await coordination.close();
    await documents.close();
  });
  return { documents, events };
}

function event(sequence: number, change: Partial<OutboxEvent> = {}): OutboxEvent {
  return {
    id: newId('evt', AT.getTime()),
    accountId: 'acc_1',
    type: 'job.item.completed',
    createdAt: AT.toISOString(),
    sequence,
    data: { jobId: 'job_1', output: { 'a.b': 1, $c: 2 } },
    ...change,
  };
}

t.test('an event that is written again is there once, as it was first', async (t) => {
  const { events } = await openRoom(t);
  const first = event(1);
  await events.write([first]);
  await events.write([first, event(2)]);
  const waiting = await events.findOldest(AT, 10);
  t.same(
    waiting.map(({ sequence }) => sequence),
    [1, 2],
  );
  const { id, type, createdAt, data } = first;
  t.same(JSON.parse(waiting[0]?.body ?? ''), { id, type, createdAt, data });
});

t.test('events wait in the order of their outcomes, whatever the order they were written in', async (t) => {
  const { events } = await openRoom(t);
  const earlier = new Date(AT.getTime() - 1).toISOString();
  await events.write([event(7), event(3)]);
  await events.write([event(9, { createdAt: earlier }), event(5)]);
  const waiting = await events.findOldest(AT, 3);
  t.same(
    waiting.map(({ sequence }) => sequence),
    [9, 3, 5],
  );
  await events.remove(waiting.map(({ _id }) => _id));
  t.match(await events.findOldest(AT, 10), [{ sequence: 7 }]);
});

t.test('only what an enabled endpoint of the account subscribes to is wanted', async (t) => {
  const { documents, events } = await openRoom(t);
  const endpoints = documents.collection<{ _id: string }>({
    name: ENDPOINTS_COLLECTION_NAME,
    indexes: [],
  });
  t.equal(await events.isWanted('acc_1', 'job.completed'), false);
  const endpoint = { _id: 'whe_1', accountId: 'acc_1', enabled: true, events: ['job.completed'] };
  await endpoints.insertOne(endpoint);
  await events.announceSubscriptionChange('acc_1');
  t.equal(await events.isWanted('acc_1', 'job.completed'), true, 'seen at once after the change was told');
  t.equal(await events.isWanted('acc_1', 'job.item.failed'), false);
  t.equal(await events.isWanted('acc_2', 'job.completed'), false, 'of no other account');
  await endpoints.updateOne({ _id: 'whe_1' }, { $set: { enabled: false } });
  await events.announceSubscriptionChange('acc_1');
  t.equal(await events.isWanted('acc_1', 'job.completed'), false);
});
