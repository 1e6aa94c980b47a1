// needs: server, both stores
import t from 'tap';
import { startServer } from '../../support/harness.ts';

const MAX_FAILURES = 60;
const MINUTE_MS = 60_000;
const usesRedis = process.env.TEST_STORES === 'cluster';

t.test('60 failures of any kind close the address to every call, until the window turns', async (t) => {
  const clock = { nowMs: Date.now() };
  const now = () => new Date(clock.nowMs);
  const server = await startServer(t, { now });
  const neighbour = await startServer(t, { now, stores: server.stores });
  const { key, email } = await server.account();
  const fail = async (index: number) => {
    if (index < 2) return server.call('/auth/sign-in', { json: { email, password: `wrong${index}` } });
    if (index < 4) return neighbour.call('/account', { session: `ses_wrong${index}` });
    if (index < 6) return server.call('/account', { headers: { authorization: `Basic ${index}` } });
    return server.call('/account', { key: `drk_wrong${index}` });
  };
  for (let index = 0; index < MAX_FAILURES; index += 1) {
    const { status } = await fail(index);
    if (status !== 401) t.equal(status, 401, `failure ${index}`);
  }
  for (const process of [server, neighbour]) {
    for (const [path, options] of [
      ['/account', { key }],
      ['/account', { key: 'drk_wrong' }],
      ['/ops', {}],
      ['/auth/sign-in', { json: { email, password: 'wrong' } }],
    ] as const) {
      const { status, json, headers } = await process.call(path, options);
      t.same([status, json.error.code, json.error.retryable], [429, 'rate_limited', true]);
      const waitSeconds = Number(headers.get('retry-after'));
      t.ok(waitSeconds >= 1 && waitSeconds <= 60, `Retry-After ${waitSeconds}`);
    }
    t.equal((await process.call('//healthz')).status, 200);
  }
  // Redis turns its windows by its own clock.
  if (usesRedis) return;
  clock.nowMs += MINUTE_MS;
  for (const process of [server, neighbour]) t.equal((await process.call('/account', { key })).status, 200);
});
