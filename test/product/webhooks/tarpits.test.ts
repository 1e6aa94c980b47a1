// needs: server
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { eventually, LOOPBACK, leaveInOutbox, outcome, register, startReceiver } from './receiver.ts';

const SLOTS = 40;
const ACCOUNTS = 4;
const ENDPOINTS = 10;
const settings = {
  ...LOOPBACK,
  SWEEP_INTERVAL_MS: '100',
  PROCESSES: '1',
  WEBHOOK_CONCURRENCY: String(SLOTS),
  WEBHOOK_CONCURRENCY_PER_ACCOUNT: '20',
};

t.test('forty endpoints that never answer leave half of forty slots to the events of others', async (t) => {
  const server = await startServer(t, { settings });
  const open = new Set<ServerResponse>();
  const tarpit = await startReceiver(t, (response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
  });
  for (let made = 0; made < ACCOUNTS; made += 1) {
    const account = await server.account();
    for (let nth = 0; nth < ENDPOINTS; nth += 1) await register(server, account, `${tarpit.url}?${nth}`);
    const events = Array.from({ length: 4 }, (_, sequence) => outcome(account.id, { sequence }));
    await leaveInOutbox(server.stores, events);
  }
  await eventually(async () => open.size === SLOTS);
  // Their first attempts fail, as by the time-out. From now on they are slow.
  for (const response of [...open]) response.destroy();
  await eventually(async () => tarpit.received.length >= SLOTS + SLOTS / 2);

  const honest = await startReceiver(t);
  const owner = await server.account();
  await register(server, owner, honest.url);
  const events = Array.from({ length: 12 }, (_, sequence) => outcome(owner.id, { sequence }));
  await leaveInOutbox(server.stores, events);
  const received = await honest.until(12);
  t.equal(received.length, 12);
  t.equal(open.size, SLOTS / 2, 'the tarpits hold their half all the while');
  for (const response of [...open]) response.destroy();
});
