// needs: server
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import {
  LOOPBACK,
  leaveInOutbox,
  outcome,
  type Received,
  register,
  startReceiver,
  verify,
} from './receiver.ts';

t.test('what arrives is verified by its documentation and by the library of Standard Webhooks', async (t) => {
  const server = await startServer(t, { settings: { ...LOOPBACK, SWEEP_INTERVAL_MS: '100' } });
  const account = await server.account();
  const receiver = await startReceiver(t);
  const { id, secret } = await register(server, account, receiver.url);
  const event = outcome(account.id, {
    data: { jobId: 'job_1', status: 'COMPLETED', output: { text: 'Grüße, 🙂', 'a.b': '$c' } },
  });
  await leaveInOutbox(server.stores, [event]);
  await server.call(`/webhook-endpoints/${id}/test`, { key: account.key, method: 'POST' });
  const received = await receiver.until(2);
  const now = Date.now() / 1000;

  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  for (const one of received) {
    t.equal(verify(one, secret, now), true);
    const headers = one.headers as Record<string, string>;
    t.same(new Webhook(secret).verify(one.body, headers), one.event);
    t.equal(one.headers['service-event-id'], one.event.id);
    t.equal(one.headers['service-event-type'], one.event.type);
    t.equal(one.headers['service-attempt'], '1');
    t.equal(one.headers['content-type'], 'application/json; charset=utf-8');
    t.equal(one.headers['content-length'], String(Buffer.byteLength(one.body)));
    t.same(Object.keys(one.event), ['id', 'type', 'createdAt', 'data']);
  }
  const announced = received.find((one) => one.event.type === 'job.completed') as Received;
  const { accountId, sequence, ...told } = event;
  t.same(announced.event, told, 'the body is the event');
  const test = received.find((one) => one.event.type === 'webhook.test') as Received;
  t.same(Object.keys(test.event.data), ['message']);

  const altered = { ...announced, body: announced.body.replace('COMPLETED', 'COMPLETEd') };
  t.equal(verify(altered, secret, now), false, 'a changed byte');
  t.equal(verify(announced, secret, now + 301), false, 'an old t');
  t.equal(verify(announced, secret.slice(0, -1), now), false, 'another secret');
  t.throws(() => verify(announced, '', now));
  const headers = announced.headers as Record<string, string>;
  t.throws(() => new Webhook(secret).verify(altered.body, headers), WebhookVerificationError);
  const later = { ...headers, 'webhook-timestamp': String(Math.floor(now) - 301) };
  t.throws(() => new Webhook(secret).verify(announced.body, later), WebhookVerificationError);
});
