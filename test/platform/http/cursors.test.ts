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
