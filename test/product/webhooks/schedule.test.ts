// needs: server, both stores
import t from 'tap';
import { EventOutbox } from '../../../src/product/events/open.ts';
import { DISPATCHER_WAKE_CHANNEL } from '../../../src/product/webhooks/deliveries/schedule.ts';
import { startServer } from '../../support/harness.ts';
import {
  eventually,
  LOOPBACK,
  leaveInOutbox,
  outcome,
  records,
  register,
  startReceiver,
  verify,
} from './receiver.ts';

const MINUTE_MS = 60_000;
const WAITS_MINUTES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360];

const clock = { ms: Date.parse('2026-05-04T03:02:01.000Z') };
const server = await startServer(t, {
  settings: { ...LOOPBACK, SWEEP_INTERVAL_MS: '100' },
  now: () => new Date(clock.ms),
});
const owner = await server.account();
const { key } = owner;
const outbox = await EventOutbox.open(server.stores);

/** Moves the clock; what is due then is looked for at once. */
async function elapse(minutes: number): Promise<void> {
  clock.ms += minutes * MINUTE_MS;
  await server.stores.coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

/** Instants are those of the server's clock. */
function announced(sequence: number) {
  return outcome(owner.id, { createdAt: new Date(clock.ms).toISOString(), sequence });
}

t.test(
  'a delivery is tried twelve times; five that fail disable the endpoint, until its owner enables it',
  async (t) => {
    let status = 500;
    const receiver = await startReceiver(t, (response) => response.writeHead(status).end());
    const registered = await register(server, owner, receiver.url);
    const path = `/webhook-endpoints/${registered.id}`;
    const read = async () => (await server.call(path, { key })).json.data;
    const events = Array.from({ length: 5 }, (_, sequence) => announced(sequence));
    let { secret } = registered;
    await leaveInOutbox(server.stores, events);

    const begun = clock.ms;
    for (const [made, minutes] of WAITS_MINUTES.entries()) {
      const attempts = made + 1;
      await receiver.until(5 * attempts);
      const rows = await eventually(async () => {
        const found = await records(server, owner, registered.id);
        return found.every((row: { attempts: number }) => row.attempts === attempts) && found;
      });
      const nextAttemptAt = new Date(clock.ms + minutes * MINUTE_MS).toISOString();
      for (const row of rows) {
        t.match(row, { status: 'PENDING', nextAttemptAt, responseStatus: 500, error: 'HTTP 500' });
      }
      if (attempts === 3) {
        secret = (await server.call(`${path}/rotate-secret`, { key, method: 'POST' })).json.data.secret;
      }
      await elapse(minutes);
    }
    t.equal((clock.ms - begun) / MINUTE_MS, 20 * 60 + 31);

    const all = await receiver.until(60);
    for (const [index, one] of all.entries()) {
      const attempt = Math.floor(index / 5) + 1;
      t.equal(one.headers['service-attempt'], String(attempt));
      t.equal(one.event.id, events[index % 5]?.id, 'in the order of the outcomes');
      const signedWith = attempt <= 3 ? registered.secret : secret;
      t.equal(verify(one, signedWith, Number(one.headers['webhook-timestamp'])), true);
    }
    t.same(all.at(-1)?.headers['webhook-timestamp'], String(clock.ms / 1000), 'signed afresh');

    const endpoint = await eventually(async () => {
      const found = await read();
      return !found.enabled && found;
    });
    t.match(endpoint, {
      consecutiveFailures: 5,
      disabledAt: new Date(clock.ms).toISOString(),
      disabledReason: '5 consecutive deliveries failed; the last error: HTTP 500',
    });
    // Disabling closes what is queued, and then the attempt that led to it is recorded.
    const failed = await eventually(async () => {
      const found = await records(server, owner, registered.id);
      return found.every(({ attempts }: { attempts: number }) => attempts === 12) && found;
    });
    for (const row of failed) {
      t.match(row, { status: 'FAILED', attempts: 12, error: 'HTTP 500' });
      t.notOk('nextAttemptAt' in row);
    }
    const mails = await eventually(async () => {
      const found = server.logged().match(/.*A mail was not sent.*/g);
      return found ?? undefined;
    });
    t.equal(mails.length, 1);
    t.match(JSON.parse(mails[0] ?? ''), { to: owner.email, text: new RegExp(registered.id) });

    await leaveInOutbox(server.stores, [announced(0)]);
    await eventually(async () => (await outbox.findOldest(new Date(clock.ms), 1)).length === 0);
    clock.ms += 1;
    const enabled = (await server.call(path, { key, method: 'PUT', json: { enabled: true } })).json.data;
    t.match(enabled, { enabled: true, consecutiveFailures: 0 });
    t.notOk('disabledAt' in enabled || 'disabledReason' in enabled);
    status = 204;
    const next = announced(0);
    await leaveInOutbox(server.stores, [next]);
    await receiver.until(61);
    t.equal(receiver.received[60]?.event.id, next.id, 'what happened while it was disabled is not replayed');
    t.equal((await server.call(path, { key, method: 'DELETE' })).status, 204);
  },
);

t.test(
  'an attempt in flight when its endpoint is disabled is finished and recorded; the rest is closed',
  async (t) => {
    const held: Array<(status: number) => void> = [];
    const receiver = await startReceiver(t, (response) => {
      held.push((status) => response.writeHead(status).end());
    });
    for (const [status, record] of [
      [200, { status: 'DELIVERED', attempts: 1, responseStatus: 200 }],
      [503, { status: 'FAILED', attempts: 1, responseStatus: 503, error: 'HTTP 503' }],
    ] as const) {
      const { id } = await register(server, owner, receiver.url);
      const before = receiver.received.length;
      await leaveInOutbox(server.stores, [announced(1), announced(2)]);
      await receiver.until(before + 1);
      const path = `/webhook-endpoints/${id}`;
      await server.call(path, { key, method: 'PUT', json: { enabled: false } });
      const closed = { status: 'FAILED', attempts: 0, error: 'endpoint disabled' };
      t.match(await records(server, owner, id), [closed, closed], 'all of the queue is closed at once');
      held.at(-1)?.(status);
      const rows = await eventually(async () => {
        const found = await records(server, owner, id);
        return found.some(({ attempts }: { attempts: number }) => attempts === 1) && found;
      });
      const inFlight = rows.find(({ attempts }: { attempts: number }) => attempts === 1);
      t.match(inFlight, record);
      t.match(
        rows.filter((row: unknown) => row !== inFlight),
        [closed],
      );
      await server.call(path, { key, method: 'PUT', json: { enabled: true } });
      await elapse(24 * 60);
      t.equal(
        (await server.call(path, { key })).json.data.consecutiveFailures,
        0,
        'closing raises no failures',
      );
      t.equal(receiver.received.length, before + 1, 'nothing of before is sent later');
      await server.call(path, { key, method: 'DELETE' });
    }
  },
);

t.test('an attempt in flight when its endpoint is deleted ends, and nothing else is sent', async (t) => {
  const held: Array<() => void> = [];
  const gone = await startReceiver(t, (response) => held.push(() => response.end()));
  const other = await startReceiver(t);
  const { id } = await register(server, owner, gone.url);
  await register(server, owner, other.url);
  await leaveInOutbox(server.stores, [announced(1), announced(2)]);
  await Promise.all([gone.until(1), other.until(2)]);
  t.equal((await server.call(`/webhook-endpoints/${id}`, { key, method: 'DELETE' })).status, 204);
  held[0]?.();
  await leaveInOutbox(server.stores, [announced(3)]);
  await other.until(3);
  t.equal((await server.call(`/webhook-endpoints/${id}/deliveries`, { key })).status, 404);
  t.equal(gone.received.length, 1);
});

t.test('a retry goes to the address of now, after what became due before it', async (t) => {
  const failing = await startReceiver(t, (response) => response.writeHead(500).end());
  const moved = await startReceiver(t);
  const { id } = await register(server, owner, failing.url);
  const [first, second] = [announced(1), announced(2)];
  await leaveInOutbox(server.stores, [first]);
  await failing.until(1);
  await eventually(async () => (await records(server, owner, id))[0].attempts === 1);
  await server.call(`/webhook-endpoints/${id}`, { key, method: 'PUT', json: { url: moved.url } });
  await leaveInOutbox(server.stores, [second]);
  await moved.until(1);
  await elapse(1);
  await moved.until(2);
  t.same(
    moved.received.map(({ event, headers }) => [event.id, headers['service-attempt']]),
    [
      [second.id, '1'],
      [first.id, '2'],
    ],
  );
});

t.test('records are kept 14 days', async (t) => {
  const [endpoint] = (await server.call('/webhook-endpoints', { key })).json.data;
  t.ok((await records(server, owner, endpoint.id)).length > 0);
  await elapse(14 * 24 * 60 - 2);
  await server.call('/webhook-endpoints', { key });
  t.ok((await records(server, owner, endpoint.id)).length > 0);
  await elapse(3);
  await eventually(async () => (await records(server, owner, endpoint.id)).length === 0);
});
