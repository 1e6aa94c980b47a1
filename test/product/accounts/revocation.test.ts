// needs: server, both stores
import t, { type Test } from 'tap';
import { EmbeddedCoordination } from '../../../src/platform/stores/coordination/embedded.ts';
import { type Answer, startServer, type TestServer } from '../../support/harness.ts';

const CACHED_MS = 30_000;

/** A process that revokes; a second one of its host; and one of a host whose coordination never heard of it. */
async function startHosts(t: Test, settings: Record<string, string> = {}) {
  const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
  const now = () => new Date(clock.nowMs);
  const here = await startServer(t, { now, settings });
  const { stores } = here;
  const neighbour = await startServer(t, { now, stores, settings });
  const coordination = new EmbeddedCoordination(stores.documents, () => clock.nowMs);
  const elsewhere = await startServer(t, { now, stores: { ...stores, coordination }, hostId: 'other-host' });
  return { clock, here, neighbour, elsewhere };
}

type Credential = { key: string } | { session: string };

async function accepts(server: TestServer, credential: Credential): Promise<boolean> {
  const { status, json } = await server.call('/account', credential);
  if (status === 401 && json.error.code === 'unauthorized') return false;
  if (status === 200) return true;
  throw new Error(`An answer with ${status} is neither.`);
}

async function signIn(server: TestServer, email: string, password: string): Promise<string> {
  return (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
}

t.test('a revoked key ends at once on its host, and within 30 s where the word was lost', async (t) => {
  const { clock, here, neighbour, elsewhere } = await startHosts(t);
  const { key, email, password } = await here.account();
  for (const server of [here, neighbour, elsewhere]) t.ok(await accepts(server, { key }));
  t.equal((await here.call('/api-keys/self', { method: 'DELETE', key })).status, 204);
  t.notOk(await accepts(here, { key }), 'in the process that revoked it');
  t.notOk(await accepts(neighbour, { key }), 'in another process');
  clock.nowMs += CACHED_MS + 1;
  t.notOk(await accepts(elsewhere, { key }), 'on a host that was not told');

  const session = await signIn(here, email, password);
  const issued = (await here.call('/api-keys', { session, json: {} })).json.data;
  for (const server of [neighbour, elsewhere]) t.ok(await accepts(server, { key: issued.key }));
  await here.call(`/api-keys/${issued.id}`, { method: 'DELETE', session });
  t.notOk(await accepts(neighbour, { key: issued.key }));
  clock.nowMs += CACHED_MS + 1;
  t.notOk(await accepts(elsewhere, { key: issued.key }));
});

t.test('a revoked key of a busy caller ends at once, though most of its calls ask nothing', async (t) => {
  // So much is left of the window that requests are counted ahead.
  const settings = { REQUESTS_PER_MINUTE: '1000000', FAILED_AUTHENTICATIONS_PER_MINUTE: '1000000' };
  const { here, neighbour } = await startHosts(t, settings);
  const { key, email, password } = await here.account();
  const session = await signIn(here, email, password);
  const issued = (await here.call('/api-keys', { session, json: {} })).json.data;
  const endings: Array<[Credential, () => Promise<Answer>]> = [
    [{ key }, () => here.call('/api-keys/self', { method: 'DELETE', key })],
    [{ key: issued.key }, () => neighbour.call(`/api-keys/${issued.id}`, { method: 'DELETE', session })],
    [{ session }, () => here.call('/auth/sign-out', { method: 'POST', session })],
  ];
  for (const [credential, end] of endings) {
    // Both processes are called without a pause until they refuse.
    const callers = [here, neighbour].map(async (server) => {
      while (await accepts(server, credential)) await accepts(server, credential);
    });
    t.equal((await end()).status, 204);
    for (const server of [here, neighbour]) t.notOk(await accepts(server, credential));
    await Promise.all(callers);
  }
});

t.test('a signed-out session ends the same way', async (t) => {
  const { clock, here, neighbour, elsewhere } = await startHosts(t);
  const { email, password } = await here.account();
  const session = await signIn(here, email, password);
  for (const server of [here, neighbour, elsewhere]) t.ok(await accepts(server, { session }));
  t.equal((await here.call('/auth/sign-out', { method: 'POST', session })).status, 204);
  t.notOk(await accepts(here, { session }));
  t.notOk(await accepts(neighbour, { session }));
  clock.nowMs += CACHED_MS + 1;
  t.notOk(await accepts(elsewhere, { session }));
});
