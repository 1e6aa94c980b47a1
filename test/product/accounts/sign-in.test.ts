// needs: server, both stores
import { mock } from 'node:test';
import t from 'tap';
import { SignInQueue } from '../../../src/product/accounts/sign-in/queue.ts';
import { delayMsAfterWrongGuesses } from '../../../src/product/accounts/sign-in/sign-in.ts';
import { startServer } from '../../support/harness.ts';

const NOBODY_LEAVES = new AbortController().signal;
const QUEUE_REFUSED = { code: 'rate_limited', details: { reason: 'sign_in_queue' } };

t.test(
  'of guesses that come together no more are judged than may be wrong, a right one among them too',
  async (t) => {
    const server = await startServer(t, { settings: { FAILED_AUTHENTICATIONS_PER_MINUTE: '3' } });
    const { email, password } = await server.account();
    const guess = (text: string) => server.call('/auth/sign-in', { json: { email, password: text } });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => guess(`wrong-${n}`)));
    const statuses = answers.map(({ status }) => status).sort();
    t.same(statuses, [401, 401, 401, 429, 429, 429, 429, 429]);
    t.equal((await guess(password)).status, 429);
  },
);

t.test('a right sign-in does not count against its address', async (t) => {
  const server = await startServer(t, { settings: { FAILED_AUTHENTICATIONS_PER_MINUTE: '2' } });
  const { email, password } = await server.account();
  for (let times = 0; times < 4; times += 1) {
    t.equal((await server.call('/auth/sign-in', { json: { email, password } })).status, 201);
  }
});

t.test(
  'addresses of one /64 share their failures, and guesses at one account grow slow from anywhere',
  async (t) => {
    const server = await startServer(t, {
      settings: { TRUST_PROXY: '127.0.0.1', FAILED_AUTHENTICATIONS_PER_MINUTE: '3' },
    });
    const { email, password } = await server.account();
    const from = (address: string, text: string) =>
      server.call('/auth/sign-in', {
        json: { email, password: text },
        headers: { 'x-forwarded-for': address },
      });
    t.equal((await from('192.0.2.1', password)).status, 201, 'from here it was signed in before');
    for (let host = 1; host <= 3; host += 1) t.equal((await from(`2001:db8::${host}`, 'wrong')).status, 401);
    t.match((await from('2001:db8::9', 'wrong')).json.error, {
      details: { reason: 'failed_authentications' },
    });
    for (let network = 1; network <= 8; network += 1) {
      t.equal((await from(`2001:db8:0:${network}::1`, 'wrong')).status, 401, `guess ${network + 3}`);
    }
    const tooEarly = await from('198.51.100.7', 'wrong');
    t.equal(tooEarly.status, 429);
    t.match(tooEarly.json.error, { code: 'rate_limited', details: { reason: 'sign_in_delay' } });
    t.ok(Number(tooEarly.headers.get('retry-after')) >= 1);
    t.equal((await from('192.0.2.1', password)).status, 201, 'the owner is not held up by it');
  },
);

t.test('the delay between guesses grows from nothing to a minute', async (t) => {
  t.same(
    [0, 9, 10, 11, 12, 15, 16, 1_000].map(delayMsAfterWrongGuesses),
    [0, 0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000],
  );
});

t.test('networks take turns, and the waiting room is bounded for each', async (t) => {
  const queue = new SignInQueue({ maxRunning: 1, maxWaiting: 4, maxWaitingPerNetwork: 3, maxWaitMs: 60_000 });
  const served: string[] = [];
  const enter = async (network: string) => {
    const leave = await queue.enter(network, NOBODY_LEAVES);
    served.push(network);
    setImmediate(leave);
  };
  const first = ['flood', 'flood', 'flood', 'flood'].map(enter);
  await t.rejects(enter('flood'), QUEUE_REFUSED, 'three wait already');
  await Promise.all([...first, enter('person')]);
  t.same(served, ['flood', 'person', 'flood', 'flood', 'flood']);
});

t.test('a full waiting room gives way to a new network, which is served first', async (t) => {
  const queue = new SignInQueue({ maxRunning: 1, maxWaiting: 3, maxWaitingPerNetwork: 3, maxWaitMs: 60_000 });
  const leave = await queue.enter('judged', NOBODY_LEAVES);
  const served: string[] = [];
  const enter = async (network: string) => {
    const done = await queue.enter(network, NOBODY_LEAVES);
    served.push(network);
    setImmediate(done);
  };
  const oldest = t.rejects(enter('flood 1'), QUEUE_REFUSED, 'the oldest gives way');
  const others = ['flood 2', 'flood 3', 'person'].map(enter);
  leave();
  await Promise.all([oldest, ...others]);
  t.same(served, ['person', 'flood 3', 'flood 2']);
});

t.test('a sign-in that waits too long is given up, and its slot is free', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const queue = new SignInQueue({ maxRunning: 1, maxWaiting: 1, maxWaitingPerNetwork: 1, maxWaitMs: 4_000 });
  const leave = await queue.enter('judged', NOBODY_LEAVES);
  const late = t.rejects(queue.enter('late', NOBODY_LEAVES), { ...QUEUE_REFUSED, retryAfterSeconds: 2 });
  await Promise.resolve();
  mock.timers.tick(4_000);
  await late;
  const next = queue.enter('late', NOBODY_LEAVES);
  leave();
  (await next)();
});
