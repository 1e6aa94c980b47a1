// needs: server, both stores
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import {
  eventually,
  LOOPBACK,
  leaveInOutbox,
  outcome,
  records,
  register,
  startReceiver,
} from './receiver.ts';

const server = await startServer(t, { settings: { ...LOOPBACK, SWEEP_INTERVAL_MS: '100' } });
const owner = await server.account();
const stranger = await server.account();
const { key } = owner;

t.test('events whose last delivery failed are sent again, in their order, and no other', async (t) => {
  let isBroken = false;
  const receiver = await startReceiver(t, (response) => response.writeHead(isBroken ? 500 : 200).end());
  const { id } = await register(server, owner, receiver.url);
  const path = `/webhook-endpoints/${id}`;
  const again = (json: object = { since: '2020-01-01' }, as = key) =>
    server.call(`${path}/redeliver`, { key: as, json });
  const settled = (count: number) =>
    eventually(async () => {
      const rows = await records(server, owner, id);
      return (
        rows.length === count && rows.every((row: { status: string }) => row.status !== 'PENDING') && rows
      );
    });

  const events = [0, 1, 2].map((sequence) => outcome(owner.id, { sequence }));
  await leaveInOutbox(server.stores, events);
  const sent = await settled(3);
  t.match((await again()).json.data, { queued: 0, left: 0 }, 'nothing failed');

  isBroken = true;
  // Redeliveries are not retried, so that these two fail at once.
  const broken: { id: string; eventId: string }[] = sent.slice(0, 2);
  for (const row of broken)
    await server.call(`${path}/deliveries/${row.id}/redeliver`, { key, method: 'POST' });
  await server.call(`${path}/test`, { key, method: 'POST' });
  const failed = await settled(6);
  const statuses = failed.map((row: { status: string }) => row.status);
  t.same(statuses.filter((status: string) => status === 'FAILED').length, 3, 'two events and a test');
  const listed = await server.call(`${path}/deliveries?status=FAILED&perPage=2`, { key });
  t.same([listed.json.data.length, listed.json.meta.total], [2, 3]);

  isBroken = false;
  const before = receiver.received.length;
  const future = new Date(Date.now() + 60_000).toISOString();
  t.match((await again({ since: future })).json.data, { queued: 0, left: 0 });
  const { status, json } = await again();
  t.same([status, json.data], [200, { queued: 2, left: 0 }]);
  await receiver.until(before + 2);
  const last = receiver.received.slice(before).map(({ event }) => event.id);
  t.same(new Set(last), new Set(broken.map(({ eventId }) => eventId)));
  await settled(8);
  t.match((await again()).json.data, { queued: 0, left: 0 }, 'all were received in the end');

  t.equal((await again({ since: '2020-01-01' }, stranger.key)).status, 404);
  for (const body of [{}, { since: 'yesterday' }, { since: 5 }, { since: '2020-01-01', status: 'FAILED' }]) {
    const refused = await again(body);
    t.same([refused.status, refused.json.error.code], [400, 'invalid_param'], JSON.stringify(body));
  }
  await server.call(path, { key, method: 'PUT', json: { enabled: false } });
  t.same((await again()).json.error.code, 'invalid_state');
});

t.test('a delivery is read with the body that is sent', async (t) => {
  const receiver = await startReceiver(t);
  const { id } = await register(server, owner, receiver.url);
  const test = await server.call(`/webhook-endpoints/${id}/test`, { key, method: 'POST' });
  const path = `/webhook-endpoints/${id}/deliveries/${test.json.data.id}`;
  const { status, json } = await server.call(path, { key });
  t.equal(status, 200);
  t.same(json.data, { ...test.json.data, body: receiver.received[0]?.body });
  t.equal((await server.call(path, { key: stranger.key })).status, 404);
  const none = await server.call(`/webhook-endpoints/${id}/deliveries/whd_none`, { key });
  t.same([none.status, none.json.error.param], [404, 'deliveryId']);
});
