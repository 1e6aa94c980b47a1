// needs: server
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
const { key } = owner;

t.test('a body with a field that is not known is refused, with the nearest real name', async (t) => {
  const { url } = await startReceiver(t);
  const { id } = await register(server, owner, url);
  const bodies: Array<[path: string, method: string, body: Record<string, unknown>, param: string]> = [
    ['/webhook-endpoints', 'POST', { url, secret: 'whsec_x' }, 'secret'],
    [`/webhook-endpoints/${id}`, 'PUT', { secret: 'whsec_x' }, 'secret'],
    ['/webhook-endpoints', 'POST', { url, event: ['job.failed'] }, 'event'],
    ['/collections', 'POST', { name: 'shoes', colour: 'red' }, 'colour'],
    ['/feedback', 'POST', { kind: 'bug', message: 'It fails.', contxt: {} }, 'contxt'],
    ['/auth/sign-in', 'POST', { email: owner.email, password: owner.password, remember: true }, 'remember'],
  ];
  for (const [path, method, json, param] of bodies) {
    const { status, json: answer } = await server.call(path, { key, method, json });
    t.equal(status, 400, path);
    t.match(answer.error, { code: 'invalid_param', param });
  }
  const near = await server.call('/webhook-endpoints', { key, json: { url, event: [] } });
  t.match(near.json.error.message, /events/);
  await server.call(`/webhook-endpoints/${id}`, { key, method: 'DELETE' });
});

t.test('an endpoint is registered, read, changed and deleted; its secret is shown once', async (t) => {
  const { url } = await startReceiver(t);
  const created = await server.call('/webhook-endpoints', { key, json: { url } });
  t.equal(created.status, 201);
  const { secret, ...endpoint } = created.json.data;
  t.match(endpoint, {
    id: /^whe_/,
    url,
    description: '',
    events: ['job.completed', 'job.failed'],
    enabled: true,
    consecutiveFailures: 0,
  });
  t.equal(endpoint.secretHint, `whsec_…${secret.slice(-5, -1)}`);
  t.notOk('disabledAt' in endpoint || 'disabledReason' in endpoint);
  const path = `/webhook-endpoints/${endpoint.id}`;
  t.same((await server.call(path, { key })).json.data, endpoint);
  t.same((await server.call('/webhook-endpoints', { key })).json.data, [endpoint]);

  const change = { description: 'orders', events: ['job.item.failed', 'job.completed', 'job.item.failed'] };
  const changed = (await server.call(path, { key, method: 'PUT', json: change })).json.data;
  const { updatedAt: _, ...rest } = endpoint;
  t.match(changed, { ...rest, description: 'orders', events: ['job.completed', 'job.item.failed'] });
  const rotated = await server.call(`${path}/rotate-secret`, { key, method: 'POST' });
  t.equal(rotated.status, 200);
  t.match(rotated.json.data, { id: endpoint.id, secret: /^whsec_/ });
  t.not(rotated.json.data.secret, secret);

  const deleted = await server.call(path, { key, method: 'DELETE' });
  t.equal(deleted.status, 204);
  for (const gone of [path, `${path}/deliveries`]) t.equal((await server.call(gone, { key })).status, 404);
  t.equal((await server.call(path, { key, method: 'DELETE' })).status, 404);
});

t.test('what cannot be registered is refused on its field', async (t) => {
  const refusals: Array<[body: Record<string, unknown>, param: string]> = [
    [{}, 'url'],
    [{ url: 'no url' }, 'url'],
    [{ url: 'ftp://example.com/' }, 'url'],
    [{ url: 'http://10.0.0.1/' }, 'url'],
    [{ url: 'https://user:password@127.0.0.1/' }, 'url'],
    [{ url: 'http://no-such-host.invalid/' }, 'url'],
    [{ url: `http://127.0.0.1/${'x'.repeat(2048)}` }, 'url'],
    [{ url: 'http://127.0.0.1/', events: [] }, 'events'],
    [{ url: 'http://127.0.0.1/', events: ['job.done'] }, 'events'],
    [{ url: 'http://127.0.0.1/', events: ['webhook.test'] }, 'events'],
    [{ url: 'http://127.0.0.1/', events: 'job.completed' }, 'events'],
    [{ url: 'http://127.0.0.1/', description: 'x'.repeat(501) }, 'description'],
    [{ url: 'http://127.0.0.1/', enabled: 'yes' }, 'enabled'],
  ];
  for (const [json, param] of refusals) {
    const answer = await server.call('/webhook-endpoints', { key, json });
    t.match([answer.status, answer.json.error.code, answer.json.error.param], [400, 'invalid_param', param]);
  }
  t.same((await server.call('/webhook-endpoints', { key })).json.data, [], 'and nothing was stored');
});

t.test('of racing registrations as many land as there are slots, and no more', async (t) => {
  const crowded = await server.account();
  const url = 'http://127.0.0.1:9/';
  const answers = await Promise.all(
    Array.from({ length: 14 }, () => server.call('/webhook-endpoints', { key: crowded.key, json: { url } })),
  );
  t.equal(answers.filter(({ status }) => status === 201).length, 10);
  const refused = answers.filter(({ status }) => status !== 201);
  for (const { status, json } of refused)
    t.match([status, json.error.code], [422, 'resource_limit_exceeded']);
  const [endpoint] = (await server.call('/webhook-endpoints', { key: crowded.key })).json.data;
  await server.call(`/webhook-endpoints/${endpoint.id}`, { key: crowded.key, method: 'DELETE' });
  t.match(await register(server, crowded, url), { id: /^whe_/ }, 'a deleted one leaves its place');
});

t.test("an account sees nothing of another's endpoints", async (t) => {
  const receiver = await startReceiver(t);
  const { id } = await register(server, owner, receiver.url);
  const [{ id: deliveryId }] = await (async () => {
    await server.call(`/webhook-endpoints/${id}/test`, { key, method: 'POST' });
    return records(server, owner, id);
  })();
  const stranger = (await server.account()).key;
  const path = `/webhook-endpoints/${id}`;
  const calls: Array<[path: string, method: string]> = [
    [path, 'GET'],
    [path, 'PUT'],
    [path, 'DELETE'],
    [`${path}/rotate-secret`, 'POST'],
    [`${path}/test`, 'POST'],
    [`${path}/deliveries`, 'GET'],
    [`${path}/deliveries/${deliveryId}/redeliver`, 'POST'],
  ];
  for (const [called, method] of calls) {
    const body = method === 'PUT' ? { json: {} } : {};
    const { status, json } = await server.call(called, { key: stranger, method, ...body });
    t.match([status, json.error.code], [404, 'not_found'], `${method} ${called}`);
  }
  t.equal(receiver.received.length, 1, 'and sets nothing off');
});

t.test('each event goes once to each enabled endpoint that subscribes to it', async (t) => {
  const account = await server.account();
  const byDefault = await startReceiver(t);
  const itemsOnly = await startReceiver(t);
  const disabled = await startReceiver(t);
  const one = await register(server, account, byDefault.url);
  await register(server, account, itemsOnly.url, { events: ['job.item.completed', 'job.item.failed'] });
  const off = await register(server, account, disabled.url, { enabled: false });
  const events = (['job.completed', 'job.item.completed', 'job.failed', 'job.item.failed'] as const).map(
    (type, sequence) => outcome(account.id, { type, sequence }),
  );
  await leaveInOutbox(server.stores, events);
  await Promise.all([byDefault.until(2), itemsOnly.until(2)]);
  await leaveInOutbox(server.stores, events);
  const again = outcome(account.id);
  await leaveInOutbox(server.stores, [again]);
  await byDefault.until(3);
  const types = (received: typeof byDefault.received) => received.map(({ event }) => event.type);
  t.same(types(byDefault.received), ['job.completed', 'job.failed', 'job.completed']);
  t.same(types(itemsOnly.received), ['job.item.completed', 'job.item.failed']);
  t.same(disabled.received, []);
  t.same(await records(server, account, off.id), []);
  const found = await eventually(async () => {
    const rows = await records(server, account, one.id);
    return rows.every(({ status }: { status: string }) => status === 'DELIVERED') && rows;
  });
  t.match(found[0], {
    id: /^whd_/,
    eventId: again.id,
    eventType: 'job.completed',
    attempts: 1,
    responseStatus: 200,
  });
  t.notOk('nextAttemptAt' in found[0] || 'error' in found[0]);
  t.equal(found.length, 3, 'an event that was written again is one delivery');
});

t.test('a test is one attempt at once, on a disabled endpoint too, and is on record', async (t) => {
  const account = await server.account();
  const receiver = await startReceiver(t, (response, { event }) => {
    const isFirst = event.id === receiver.received[0]?.event.id;
    response.writeHead(isFirst ? 204 : 302, { location: 'http://127.0.0.1:1/' }).end();
  });
  const { id } = await register(server, account, receiver.url, { enabled: false });
  const send = () => server.call(`/webhook-endpoints/${id}/test`, { key: account.key, method: 'POST' });
  const good = await send();
  t.equal(good.status, 200);
  t.match(good.json.data, {
    status: 'DELIVERED',
    responseStatus: 204,
    attempts: 1,
    eventType: 'webhook.test',
  });
  const bad = (await send()).json.data;
  t.match(bad, { status: 'FAILED', responseStatus: 302, error: 'HTTP 302', attempts: 1 });
  t.same(await records(server, account, id), [bad, good.json.data]);
  t.equal(
    (await server.call(`/webhook-endpoints/${id}`, { key: account.key })).json.data.consecutiveFailures,
    0,
  );
});

t.test('an event is sent again when its owner asks: a new record, one attempt', async (t) => {
  const account = await server.account();
  let status = 200;
  const receiver = await startReceiver(t, (response) => response.writeHead(status).end());
  const { id } = await register(server, account, receiver.url);
  const event = outcome(account.id);
  await leaveInOutbox(server.stores, [event]);
  await receiver.until(1);
  const [first] = await records(server, account, id);
  const path = `/webhook-endpoints/${id}/deliveries/${first.id}/redeliver`;
  status = 500;
  const headers = { 'idempotency-key': 'once' };
  const answer = await server.call(path, { key: account.key, method: 'POST', headers });
  t.match([answer.status, answer.json.data.status, answer.json.data.eventId], [201, 'PENDING', event.id]);
  const replayed = await server.call(path, { key: account.key, method: 'POST', headers });
  t.same(replayed.json.data, answer.json.data);
  const second = await eventually(async () => {
    const rows = await records(server, account, id);
    return rows[0].status === 'FAILED' && rows;
  });
  t.match(second, [{ id: answer.json.data.id, error: 'HTTP 500', attempts: 1 }, { id: first.id }]);
  t.same(receiver.received[1]?.body, receiver.received[0]?.body);

  const missing = await server.call(path.replace(first.id, 'whd_none'), { key: account.key, method: 'POST' });
  t.match([missing.status, missing.json.error.param], [404, 'deliveryId']);
  await server.call(`/webhook-endpoints/${id}`, {
    key: account.key,
    method: 'PUT',
    json: { enabled: false },
  });
  const refused = await server.call(path, { key: account.key, method: 'POST' });
  t.match([refused.status, refused.json.error.code], [400, 'invalid_state']);
});

t.test('an operator sees what is due, in flight, done and disabled, and no id', async (t) => {
  const { bytes } = await server.call('//metrics');
  const text = bytes.toString();
  for (const name of [
    'deliveries_due',
    'attempts_in_flight',
    'endpoints_disabled',
    'first_attempt_delay_seconds_count',
  ])
    t.match(text, new RegExp(`^darkroom_webhook_${name} \\d+$`, 'm'));
  for (const result of ['delivered', 'failed', 'retried'])
    t.match(text, new RegExp(`^darkroom_webhook_attempts_total\\{result="${result}"\\} \\d+$`, 'm'));
  t.notMatch(text, /whe_|whd_|evt_|acc_/);
});
