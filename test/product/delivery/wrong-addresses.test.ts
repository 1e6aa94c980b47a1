// needs: server
import t, { type Test } from 'tap';
import { signatureOf } from '../../../src/product/delivery/address.ts';
import { SigningKeyCache } from '../../../src/product/delivery/signers.ts';
import { openDelivering, signed } from './delivering.ts';

const MAX_WRONG = 20;
const unknownKey = (index: number) => `sgk_${String(index).padStart(24, '0')}`;

async function openLimited(t: Test) {
  const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
  const settings = { FAILED_AUTHENTICATIONS_PER_MINUTE: String(MAX_WRONG) };
  const delivering = await openDelivering(t, { settings, now: () => new Date(clock.nowMs) });
  return { ...delivering, clock };
}

t.test('wrong addresses count as wrong credentials of their client', async (t) => {
  const { server, account, assetId, address, get, clock } = await openLimited(t);
  const right = address(`resize:width=30/${assetId}.png`);
  const wrong = right.replace('width=30', 'width=31');
  t.equal((await get(right)).status, 200);
  const statuses: number[] = [];
  for (let index = 0; index < MAX_WRONG + 5; index += 1) statuses.push((await get(wrong)).status);
  t.same(
    statuses.slice(0, MAX_WRONG),
    Array.from({ length: MAX_WRONG }, () => 404),
  );
  t.same(new Set(statuses.slice(MAX_WRONG)), new Set([429]));
  const blocked = await get(wrong);
  t.equal(blocked.headers.get('cache-control'), 'no-store');
  t.ok(Number(blocked.headers.get('retry-after')) >= 1);
  t.equal(blocked.json.error.details.reason, 'failed_authentications');
  const credential = await server.call('/account', { key: account.key });
  t.equal(credential.status, 429, 'the interface counts in the same window');
  t.equal((await get(right)).status, 200, 'a page with right addresses goes on');
  t.equal((await get(address(`resize:width=32/${assetId}.png`))).status, 200, 'also with new pictures');
  clock.nowMs += 61_000;
  t.equal((await get(wrong)).status, 404);
  t.equal((await server.call('/account', { key: account.key })).status, 200);
});

t.test('right addresses whose picture is not there are no wrong credentials', async (t) => {
  const { server, account, address, rung, get } = await openLimited(t);
  const steps = [{ op: 'grayscale' }];
  const { data } = (await server.call('/presets', { key: account.key, json: { name: 'Grey', steps } })).json;
  for (let index = 0; index < MAX_WRONG + 5; index += 1) {
    const family = { what: `${data.slug}@1`, extension: 'png', width: String(5_000 + index) };
    t.equal((await get(rung(family))).status, 404);
    t.equal((await get(address(`grayscale/ast_${String(index).padStart(24, '0')}.png`))).status, 404);
  }
});

t.test('a flood of made-up keys asks the store no more once its client is blocked', async (t) => {
  const { server, assetId, get } = await openLimited(t);
  const reads = async () => {
    const text = (await server.call('//metrics')).bytes.toString();
    const line = /^darkroom_store_duration_seconds_count\{store="documents",operation="findOne".*\} (\d+)$/m;
    return Number(line.exec(text)?.[1] ?? 0);
  };
  const path = `grayscale/${assetId}.png`;
  const before = await reads();
  for (let index = 0; index < 200; index += 1) {
    const made = { id: unknownKey(index), secret: 'sgs_made-up' };
    t.ok([404, 429].includes((await get(signed(made, path, path))).status));
  }
  const asked = (await reads()) - before;
  t.ok(asked > 0 && asked <= 2 * (MAX_WRONG + 1), `${asked} reads of the key or its account`);
});

t.test('wrong, expired, revoked and unknown addresses cost the same reads', async (t) => {
  const nowMs = Date.parse('2026-03-04T05:06:00.000Z');
  const reads = { keys: 0, accounts: 0 };
  const key = { _id: unknownKey(1), accountId: 'acc_1', slot: 0, name: '', secret: 'sgs_a', createdAt: '' };
  const signers = await SigningKeyCache.open({
    keys: {
      async findAnyKey(keyId) {
        reads.keys += 1;
        return keyId === key._id ? key : null;
      },
    },
    accounts: {
      async findAccountStatus(accountId) {
        reads.accounts += 1;
        return accountId === key.accountId ? { plan: 'free', isSuspended: false } : null;
      },
    },
    coordination: { subscribe: async () => () => undefined, publish: async () => 1 },
    now: () => new Date(clock.nowMs),
  });
  const clock = { nowMs };
  const message = 'grayscale/ast_1.png';
  const costOf = async (claim: { keyId: string; signature: string; expiresAt: number | null }) => {
    clock.nowMs += 1_000;
    const before = { ...reads };
    const signer = await signers.verify({ message, ...claim }, { mayReadStore: true });
    return [signer, reads.keys - before.keys, reads.accounts - before.accounts];
  };
  const right = signatureOf(key.secret, message);
  const wrong = signatureOf('another', message);
  const good = { keyId: key._id, signature: right, expiresAt: null };
  t.match(await costOf(good), [{ keyId: key._id }, 1, 1]);
  t.same(await costOf({ ...good, signature: wrong }), [null, 1, 1]);
  t.same(await costOf({ ...good, expiresAt: nowMs / 1000 - 1 }), [null, 1, 1]);
  t.same(await costOf({ ...good, keyId: unknownKey(2) }), [null, 1, 1], 'unknown, or revoked');
  t.same(await costOf({ ...good, keyId: unknownKey(2) }), [null, 0, 0], 'and not looked up twice');
});
