// needs: server
import sharp from 'sharp';
import t from 'tap';
import { askProcesses } from '../../../src/host/processes/controls.ts';
import { startServer } from '../../support/harness.ts';

const CALLS = 300;

t.test(
  'refusals of one reason are a line per second at info, without stacks, and one each at debug',
  async (t) => {
    const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '5' } });
    const { key } = await server.account();
    const call = async () => (await server.call('/account', { key })).status;
    const refusedOf = async (calls: number) => {
      let refused = 0;
      for (let made = 0; made < calls; made += 1) if ((await call()) === 429) refused += 1;
      return refused;
    };
    const lines = () =>
      server
        .logged()
        .split('\n')
        .filter((line) => /rate_limited|request_rate/.test(line))
        .map((line) => JSON.parse(line));

    const refused = await refusedOf(CALLS);
    t.ok(refused > CALLS - 10);
    await askProcesses(server.stores.coordination, {
      kind: 'log',
      level: 'debug',
      forMs: null,
      by: 'a test',
    });
    const [first] = lines();
    const more = await refusedOf(3);
    await server.drain(1_000);
    const [each, summed] = [true, false].map((isEach) =>
      lines().filter(({ msg }) => (msg === 'answered') === isEach),
    );
    t.equal(each?.length, more, 'each has a line at debug, and had none before');
    t.match(each?.[0], { level: 20, status: 429, code: 'rate_limited' });
    t.equal(
      summed?.reduce((sum, { refused: count }) => sum + count, 0),
      refused + more,
      'the sums are all of them',
    );
    t.ok((summed?.length ?? 0) <= refused / 3, `${summed?.length} lines`);
    if (first !== undefined) t.match(first, { level: 30, reason: 'request_rate', route: '/api/v1/account' });
    t.notMatch(server.logged(), /"stack"/);
  },
);

t.test('at debug the log names the pool of a pass, its estimate and its wait', async (t) => {
  const server = await startServer(t);
  const { key } = await server.account();
  const body = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#37c' } })
    .png()
    .toBuffer();
  const transform = () =>
    server.call('/images/transform?op=negate', {
      ...{ method: 'POST', key, type: 'image/png', body: new Uint8Array(body) },
    });
  const decided = () =>
    server
      .logged()
      .split('\n')
      .filter((line) => line.includes('A pass ran'));
  t.equal((await transform()).status, 200);
  t.same(decided(), []);
  await askProcesses(server.stores.coordination, { kind: 'log', level: 'debug', forMs: null, by: 'a test' });
  t.equal((await transform()).status, 200);
  t.match(JSON.parse(decided()[0] ?? '{}'), { level: 20, pool: 'quick', queueMs: 0, inBatch: false });
});
