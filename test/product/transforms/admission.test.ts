// needs: server
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { manualClock } from '../../support/clock.ts';
import type { Answer, TestAccount, TestServer } from '../../support/harness.ts';
import { openCalls, pngOf, refusalOf } from './calls.ts';

const calls = await openCalls(t);
const png = await pngOf(sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }));
const ENDLESS = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="4000" height="4000"><filter id="f"><feTurbulence baseFrequency="0.01" numOctaves="5000"/></filter><rect width="4000" height="4000" filter="url(#f)"/></svg>',
);
const TOO_MANY = {
  status: 429,
  code: 'rate_limited',
  retryable: true,
  details: { reason: 'account_concurrency' },
};
/** Longer than one drawing may take. */
const DRAWING_MS = 60_000;
const MAX_TRIES = 300;
const PAUSE_MS = 10;

/**
 * Begins a call that goes on until its body comes, which it does not. One that is answered was refused, for want of the
 * slot that a call of the test had just then, and is begun again.
 */
function hold(t: Test, { url }: TestServer, key: string, path: string, type: string): { leave(): void } {
  const head = [
    `POST /api/v1${path} HTTP/1.1`,
    'host: darkroom',
    `authorization: ApiKey ${key}`,
    `content-type: ${type}`,
    'content-length: 1000',
    '',
    '',
  ];
  let socket = begin();
  t.teardown(() => socket.destroy());
  return { leave: () => socket.destroy() };

  function begin(tries = 1): Socket {
    const begun = connect(Number(new URL(url).port), '127.0.0.1');
    begun.on('error', () => undefined);
    begun.once('data', () => {
      begun.destroy();
      if (tries < MAX_TRIES) socket = begin(tries + 1);
    });
    begun.write(head.join('\r\n'));
    return begun;
  }
}

/** Repeats a call until its answer has the status; answers the last one. The pauses leave the slot to held calls. */
async function until(status: number, call: () => Promise<Answer>): Promise<Answer> {
  let answer = await call();
  for (let tries = 1; answer.status !== status && tries < MAX_TRIES; tries += 1) {
    await pause(PAUSE_MS);
    answer = await call();
  }
  return answer;
}

t.test(
  'four calls of an account are in flight, whatever they are; the fifth waits, others do not',
  async (t) => {
    const { server, key } = calls;
    const other = await server.account();
    const open = ['/images/transform?op=resize&width=8', '/images/metadata', '/images/transform?op=flip'].map(
      (path) => hold(t, server, key, path, 'image/png'),
    );
    open.push(hold(t, server, key, '/images/render', 'application/json'));
    const query = { op: 'resize', width: 8 };
    const fifth = await until(429, () => calls.metadata(png));
    t.match(refusalOf(fifth), TOO_MANY);
    t.equal(fifth.headers.get('retry-after'), '1');
    t.match(refusalOf(await calls.transform(query, png)), TOO_MANY);
    const render = { templateId: 'builtin-template-quote', data: {} };
    t.match(refusalOf(await server.call('/images/render', { key, json: render })), TOO_MANY);
    t.equal(
      (await calls.transform(query, png, 'image/png', other.key)).status,
      200,
      'another account is served',
    );
    t.equal((await server.call('/templates', { key })).status, 200, 'other calls of the account are too');
    t.match(
      refusalOf(await calls.transform({ op: 'resize', width: 0 }, png)),
      { status: 400, param: 'width' },
      'what is wrong anyway is told as such',
    );

    open[1]?.leave();
    const freed = await until(200, () => calls.transform(query, png));
    t.equal(freed.status, 200, 'a client that goes away gives its slot back');
    for (const held of open) held.leave();
    for (let call = 0; call < 6; call += 1) await until(200, () => calls.metadata(png));
    const together = await Promise.all(Array.from({ length: 4 }, () => calls.transform(query, png)));
    t.same(
      together.map(({ status }) => status),
      [200, 200, 200, 200],
      'and all four are there again',
    );
  },
);

t.test('a refused call gives its slot back as well', async (t) => {
  for (let call = 0; call < 12; call += 1) {
    t.match(refusalOf(await calls.transform({ op: 'resize', width: 8 }, png.slice(0, 30))), { status: 400 });
  }
});

t.test('clients that leave at once, before they have a slot or with it, keep none', async (t) => {
  const { server } = calls;
  const { key } = await server.account();
  for (let call = 0; call < 40; call += 1) {
    const held = hold(t, server, key, '/images/metadata', 'image/png');
    for (let turn = 0; turn < call % 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    held.leave();
  }
  const flip = () => calls.transform({ op: 'flip' }, png, 'image/png', key);
  const four = await Promise.all(Array.from({ length: 4 }, () => until(200, flip)));
  t.same(
    four.map(({ status }) => status),
    [200, 200, 200, 200],
  );
});

t.test('four drawings without end stop nobody else, and end by themselves', async (t) => {
  const clock = manualClock(Date.now());
  const { server } = await openCalls(t, {}, { imageWork: { clock } });
  const [attacker, other] = [await server.account(), await server.account()];
  let ended = 0;
  const bombs = Array.from({ length: 4 }, async (_, index) => {
    const body = new Uint8Array(ENDLESS);
    const path = index % 2 === 0 ? '/images/transform?op=flip' : '/images/metadata';
    const bomb = { method: 'POST', key: attacker.key, body, type: 'image/svg+xml' };
    // A call below of the same account may have had its slot just then.
    const answer = await until(503, () => server.call(path, bomb));
    ended += 1;
    return answer;
  });
  const flip = (body: Uint8Array<ArrayBuffer>, type: string, { key }: TestAccount) =>
    server.call('/images/transform?op=flip', { method: 'POST', key, body, type });
  await until(429, () => flip(png, 'image/png', attacker));
  for (let call = 0; call < 10; call += 1) t.equal((await flip(png, 'image/png', other)).status, 200);
  t.equal(ended, 0, 'the bombs are still in flight');
  while (ended < bombs.length) {
    clock.advance(DRAWING_MS);
    await pause(PAUSE_MS);
  }
  for (const answer of await Promise.all(bombs)) {
    t.match(refusalOf(answer), {
      status: 503,
      code: 'provider_unavailable',
      retryable: true,
      details: { reason: 'deadline_exceeded' },
    });
    t.ok(Number(answer.headers.get('retry-after')) >= 1);
  }
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
  );
  const again = await flip(new Uint8Array(svg), 'image/svg+xml', other);
  t.equal(again.status, 200, 'drawings are drawn again');
});

t.test(
  'a success is counted once and a failure costs nothing, down to the last of the allowance',
  async (t) => {
    const { server } = calls;
    const { key } = await server.account({ plan: 'free', credits: 2 });
    const used = async () => (await server.call('/account', { key })).json.data;
    const flip = (body = png, response = '') =>
      calls.transform({ op: 'flip', ...(response && { response }) }, body, 'image/png', key);
    t.equal((await flip()).status, 200);
    t.equal((await flip(png, 'url')).status, 200);
    t.equal((await flip(png.slice(0, 30))).status, 400);
    t.equal(
      (await server.call('/images/metadata', { method: 'POST', key, body: png, type: 'image/png' })).status,
      200,
    );
    t.match(await used(), { processing: { used: 2, limit: 500 }, credits: { balance: 2, held: 0 } });
  },
);
