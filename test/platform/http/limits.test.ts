// needs: server, both stores
import t from 'tap';
import { startServer } from '../../support/harness.ts';

t.test(
  'requests of an account are counted over all processes of a host, and told on every authenticated answer',
  async (t) => {
    const settings = { REQUESTS_PER_MINUTE: '5' };
    const first = await startServer(t, { settings });
    const second = await startServer(t, { settings, stores: first.stores });
    const { key } = await first.account();
    const remaining: string[] = [];
    for (const server of [first, second, first, second, first]) {
      const answer = await server.call('/templates', { key });
      t.equal(answer.status, 200);
      t.equal(answer.headers.get('ratelimit-limit'), '5');
      t.match(answer.headers.get('ratelimit-reset'), /^\d+$/);
      const left = answer.headers.get('ratelimit-remaining') ?? '';
      remaining.push(left);
      t.equal(answer.headers.get('ratelimit-policy'), '"requests";q=5;w=60');
      const seconds = answer.headers.get('ratelimit-reset');
      t.equal(answer.headers.get('ratelimit'), `"requests";r=${left};t=${seconds}`);
    }
    t.same(remaining, ['4', '3', '2', '1', '0']);
    const refused = await second.call('/templates', { key });
    t.equal(refused.status, 429);
    t.equal(refused.json.error.code, 'rate_limited');
    t.ok(Number(refused.headers.get('retry-after')) >= 1);
    t.equal(refused.headers.get('ratelimit-remaining'), '0');
  },
);

t.test(
  'each account has a window of its own, another host too, and the anonymous are counted by address',
  async (t) => {
    const settings = { REQUESTS_PER_MINUTE: '2' };
    const server = await startServer(t, { settings });
    const elsewhere = await startServer(t, { settings, stores: server.stores, hostId: 'other-host' });
    const [one, other] = [await server.account(), await server.account()];
    for (const key of [one.key, one.key, other.key, other.key]) {
      t.equal((await server.call('/templates', { key })).status, 200);
    }
    t.equal((await server.call('/templates', { key: one.key })).status, 429);
    t.equal((await elsewhere.call('/templates', { key: one.key })).status, 200);
    t.equal((await server.call('/ops')).status, 200);
    t.equal((await server.call('/ops')).status, 200);
    const anonymous = await server.call('/ops');
    t.equal(anonymous.status, 429);
    t.equal(anonymous.headers.get('ratelimit-limit'), null, 'the budget is told to accounts');
  },
);

t.test('the windows leave health and description alone', async (t) => {
  const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '1' } });
  for (let call = 0; call < 3; call += 1) t.equal((await server.call('//healthz')).status, 200);
});

t.test('wrong credentials fill the window of their address; then even a good key waits', async (t) => {
  const settings = { FAILED_AUTHENTICATIONS_PER_MINUTE: '3' };
  const server = await startServer(t, { settings });
  const neighbour = await startServer(t, { settings, stores: server.stores });
  const { key } = await server.account();
  for (let call = 0; call < 3; call += 1) {
    const answer = await server.call('/templates', { key: `drk_wrong${call}` });
    t.equal(answer.status, 401);
    t.equal(answer.json.error.code, 'unauthorized');
  }
  for (const process of [server, neighbour]) {
    for (const options of [{ key }, {}, { key: 'drk_wrong' }]) {
      const answer = await process.call('/ops', options);
      t.equal(answer.status, 429);
      t.ok(Number(answer.headers.get('retry-after')) >= 1);
    }
  }
});

t.test(
  'a missing credential is 401 and no failed authentication; scheme words are read in any case',
  async (t) => {
    const server = await startServer(t, { settings: { FAILED_AUTHENTICATIONS_PER_MINUTE: '2' } });
    const { key } = await server.account();
    for (let call = 0; call < 4; call += 1) t.equal((await server.call('/templates')).status, 401);
    for (const scheme of ['ApiKey', 'apikey', 'APIKEY']) {
      const answer = await server.call('/templates', { headers: { authorization: `${scheme} ${key}` } });
      t.equal(answer.status, 200, scheme);
    }
  },
);
