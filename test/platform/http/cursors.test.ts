// needs: server
import t from 'tap';
import { sharedServer, type TestAccount } from '../../support/harness.ts';

const server = await sharedServer();
const owner = await server.account({ credits: 100 });
const other = await server.account({ credits: 100 });
const generate = { op: 'generate', model: 'sandbox-image', prompt: 'A beach', wait: 30 };

/** Two rows and more in every list. */
async function fill({ key }: TestAccount): Promise<void> {
  for (let row = 0; row < 2; row += 1) {
    await server.call('/feedback', { key, json: { kind: 'other', message: 'Hello' } });
    await server.call('/assets', { key, json: {} });
    await server.call('/jobs', { key, json: generate });
  }
}

await fill(owner);
await fill(other);

for (const list of ['/assets', '/jobs', '/feedback', '/credits/ledger', '/templates']) {
  t.test(`a cursor of ${list} is of one account: another account's is refused`, async (t) => {
    const page = (key: string, cursor: string) => server.call(`${list}?perPage=1&cursor=${cursor}`, { key });
    const { nextCursor } = (await server.call(`${list}?perPage=1`, owner)).json.meta;
    t.equal((await page(owner.key, nextCursor)).status, 200);
    const refusal = await page(other.key, nextCursor);
    t.equal(refusal.status, 400);
    t.match(refusal.json.error, { code: 'invalid_param', param: 'cursor', message: /filters and account/ });
  });
}

t.test('a cursor whose values were altered is refused, or leads to a page of the same account', async (t) => {
  const { key } = owner;
  for (const list of ['/assets', '/jobs', '/feedback', '/credits/ledger', '/templates', '/requests']) {
    const { nextCursor } = (await server.call(`${list}?perPage=1`, { key })).json.meta;
    const [bound, ...values] = JSON.parse(Buffer.from(nextCursor, 'base64url').toString());
    for (const value of [true, null, { toString: 1 }, ['a'], -1e300, '\u0000', "' OR 1=1 --", '\ud800']) {
      const altered = JSON.stringify([bound, ...values.map(() => value)]);
      const cursor = Buffer.from(altered).toString('base64url');
      const answer = await server.call(`${list}?perPage=1&cursor=${cursor}`, { key });
      const isRefused = typeof value !== 'string' && typeof value !== 'number';
      t.equal(answer.status, isRefused ? 400 : 200, `${list} ${altered}`);
    }
  }
});

t.test('a page past any end is empty, and harms no call after it', async (t) => {
  const { key } = await server.account();
  for (const path of ['/feedback', '/assets', '/templates?filter=user', '/credits/ledger']) {
    for (const page of ['1e20', '99999999999999999999', '1e15', '9007199254740991']) {
      const far = await server.call(`${path}${path.includes('?') ? '&' : '?'}page=${page}&perPage=7`, {
        key,
      });
      t.same([far.status, far.json.data], [200, []], `${path} ${page}`);
    }
    t.equal((await server.call(path, { key })).status, 200);
  }
});
