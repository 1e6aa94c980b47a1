// needs: server, both stores
import t from 'tap';
import { delayMsAfter } from '../../src/accounts/sign-in/guesses.ts';
import { createSignInQueue } from '../../src/accounts/sign-in/queue.ts';
import { startServer } from '../harness.ts';

const NOBODY_LEAVES = new AbortController().signal;

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
    [0, 9, 10, 11, 12, 15, 16, 1_000].map(delayMsAfter),
    [0, 0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000],
  );
});

t.test('networks take turns, and the waiting room is bounded as a whole and for each', async (t) => {
  const queue = createSignInQueue({ atOnce: 1, mostWaiting: 4, mostOfNetwork: 3 });
  const served: string[] = [];
  const enter = async (network: string) => {
    const leave = await queue.enter(network, NOBODY_LEAVES);
    served.push(network);
    setImmediate(leave);
  };
  const refused = { code: 'rate_limited', details: { reason: 'sign_in_queue' } };
  const first = ['flood', 'flood', 'flood', 'flood'].map(enter);
  await t.rejects(enter('flood'), refused, 'three wait already');
  const last = enter('person');
  await t.rejects(enter('another'), refused, 'four wait already');
  await Promise.all([...first, last]);
  t.same(served, ['flood', 'flood', 'person', 'flood', 'flood']);
});

t.test('whoever leaves the waiting room makes room in it', async (t) => {
  const queue = createSignInQueue({ atOnce: 1, mostWaiting: 1, mostOfNetwork: 1 });
  const leave = await queue.enter('a', NOBODY_LEAVES);
  const client = new AbortController();
  const waiting = queue.enter('b', client.signal);
  client.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
  const next = queue.enter('c', NOBODY_LEAVES);
  leave();
  leave();
  await t.resolves(next);
});
