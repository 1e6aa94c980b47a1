// needs: server, both stores
import { createHash, createHmac } from 'node:crypto';
import t from 'tap';
import { signatureOf } from '../../../src/product/delivery/address.ts';
import { openDelivering, signed } from './delivering.ts';

const delivering = await openDelivering(t, { settings: { FAILED_AUTHENTICATIONS_PER_MINUTE: '1000' } });
const { server, account, key, assetId, address, get } = delivering;

/** A refusal without what differs from call to call. */
function bodyOf({ json }: { json: { error: object; timestamp: string } }): string {
  return JSON.stringify({ ...json, timestamp: '', error: { ...json.error, requestId: '' } });
}

t.test('the signature of the documentation', async (t) => {
  const secret = 'sgs_0123456789abcdefghijABCDEFGHIJ0123456789';
  const message = 'resize:width=640/ast_0123456789abcdefghijABCD.webp?exp=1893456000';
  const expected = createHmac('sha256', secret).update(message).digest('base64url').slice(0, 32);
  t.equal(signatureOf(secret, message), expected);
  t.equal(expected.length, 32);
});

t.test('a secret is shown once, and signs', async (t) => {
  const made = await server.call('/signing-keys', { method: 'POST', key: account.key });
  t.equal(made.status, 201);
  const { secret, ...rest } = made.json.data;
  t.match(secret, /^sgs_[0-9A-Za-z]{40}$/);
  t.match(rest, { id: /^sgk_[0-9A-Za-z]{24}$/, name: '' });
  const list = await server.call('/signing-keys', { key: account.key });
  t.same(list.json.data[0], rest, 'newest first');
  t.notMatch(list.bytes.toString(), secret);
  const path = `grayscale/${assetId}.png`;
  t.equal((await get(signed({ id: rest.id, secret }, path, path))).status, 200);
});

t.test('an account has at most ten keys', async (t) => {
  const full = await server.account();
  const make = () => server.call('/signing-keys', { method: 'POST', key: full.key, json: {} });
  const made = await Promise.all(Array.from({ length: 12 }, make));
  t.equal(made.filter(({ status }) => status === 201).length, 10);
  const refused = made.find(({ status }) => status !== 201);
  t.same([refused?.status, refused?.json.error.details.limit], [422, 10]);
});

t.test('a revoked key answers nothing more, in memory or on disk', async (t) => {
  const { data } = (await server.call('/signing-keys', { method: 'POST', key: account.key, json: {} })).json;
  const path = signed(data, `negate/${assetId}.png`, `negate/${assetId}.png`);
  t.equal((await get(path)).status, 200);
  t.equal((await get(path)).status, 200);
  const other = await server.account();
  const stranger = await server.call(`/signing-keys/${data.id}`, { method: 'DELETE', key: other.key });
  t.same([stranger.status, stranger.json.error.param], [404, 'keyId']);
  const revoked = await server.call(`/signing-keys/${data.id}`, { method: 'DELETE', key: account.key });
  t.same([revoked.status, revoked.headers.get('cache-tag')], [204, `key-${data.id}`]);
  const { status, headers } = await get(path);
  t.equal(status, 404);
  t.equal(headers.get('cache-control'), 'public, max-age=10');
  t.equal((await get(path, { 'if-none-match': '*' })).status, 404);
});

t.test('another account’s asset is not there', async (t) => {
  const other = await server.account();
  const { data } = (await server.call('/signing-keys', { method: 'POST', key: other.key, json: {} })).json;
  const path = `grayscale/${assetId}.png`;
  const foreign = await get(signed(data, path, path));
  const unknown = await get(signed({ ...data, id: `sgk_${'0'.repeat(24)}` }, path, path));
  t.same([foreign.status, unknown.status], [404, 404]);
  t.equal(bodyOf(foreign), bodyOf(unknown));
});

t.test('a deleted asset is answered no more, and names what a CDN purges', async (t) => {
  const body = new FormData();
  body.set('file', new Blob([await other()], { type: 'image/svg+xml' }), 'drawing.svg');
  const uploaded = await server.call('/assets/upload', { method: 'POST', key: account.key, body });
  const { id } = uploaded.json.data;
  const path = address(`resize:width=10/${id}.png`);
  t.equal((await get(path)).status, 200);
  const removed = await server.call(`/assets/${id}`, { method: 'DELETE', key: account.key });
  t.same([removed.status, removed.headers.get('cache-tag')], [204, `asset-${id}`]);
  t.equal((await get(path)).status, 404);
});

t.test('two hundred changed addresses are one answer', async (t) => {
  const good = address(`resize:width=50,height=50/${assetId}.png`, 4_000_000_000);
  t.equal((await get(good)).status, 200);
  const bodies = new Set<string>();
  for (const path of mutationsOf(good)) {
    const answer = await get(path);
    t.equal(answer.status, 404, path);
    bodies.add(bodyOf(answer));
  }
  t.equal(bodies.size, 1);
});

async function other(): Promise<string> {
  return '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20"/></svg>';
}

/** Two hundred addresses that differ from a good one: each part changed, moved, left out, encoded once more. */
function mutationsOf(good: string): string[] {
  const [path = '', query = ''] = good.split('?');
  const parts = path.slice('/d/'.length).split('/');
  const [id = '', signature = '', what = '', source = ''] = parts;
  const withPart = (index: number, part: string) => `/d/${parts.with(index, part).join('/')}?${query}`;
  const fixed = [
    `/d/${[signature, id, what, source].join('/')}?${query}`,
    `/d/${[id, signature, source, what].join('/')}?${query}`,
    `/d/${[id, signature, what].join('/')}?${query}`,
    `/d/${[id, signature].join('/')}?${query}`,
    `/d/${id}`,
    '/d/',
    `${path}/x?${query}`,
    `${path}/640.png?${query}`,
    path,
    `${path}?exp=4000000001`,
    `${path}?exp=`,
    `${path}?exp=4000000000&exp=4000000000`,
    `${path}?EXP=4000000000`,
    `${path}?exp=04000000000`,
    `${path}?exp=1`,
    withPart(0, id.toLowerCase()),
    withPart(0, `${id}0`),
    withPart(0, key.secret),
    withPart(1, signature.toUpperCase()),
    withPart(1, signature.slice(1)),
    withPart(1, `${signature}=`),
    withPart(1, ''),
    withPart(2, 'resize:height=50,width=50'),
    withPart(2, 'resize:width=50,height=051'),
    withPart(2, encodeURIComponent(what)),
    withPart(2, encodeURIComponent(encodeURIComponent(what))),
    withPart(2, `${what};grayscale`),
    withPart(2, `${what},`),
    withPart(2, what.toUpperCase()),
    withPart(2, 'card@1'),
    withPart(2, 'größe'),
    withPart(2, '%F0%9F%98%80'),
    withPart(3, source.replace('.png', '.webp')),
    withPart(3, source.replace('.png', '')),
    withPart(3, source.toUpperCase()),
    withPart(3, `${source}.png`),
    withPart(3, source.replace('.png', '.exe')),
    withPart(3, `%2e%2e${source}`),
    withPart(3, `..%2f${source}`),
    withPart(3, `${source}%00`),
    withPart(3, `${source}%zz`),
    withPart(3, `${source}%`),
    withPart(2, `${what}%c3`),
    withPart(1, `${signature.slice(1)}%A`),
    withPart(0, `%ff${id}`),
    withPart(3, source.replace('_', '%5f').replace('.', '%2E').toUpperCase()),
    `/d//${parts.join('/')}?${query}`,
    `/d/${parts.join('//')}?${query}`,
    withPart(3, 'url:aHR0cDovLzEyNy4wLjAuMS8'),
    withPart(3, 'ast_000000000000000000000000.png'),
  ];
  const others = Array.from({ length: 200 - fixed.length }, (_, index) => {
    // Another signature in each, of which the server knows none.
    const wrong = createHash('sha256').update(`${index}`).digest('base64url').slice(0, 32);
    return withPart(1, wrong);
  });
  return [...fixed, ...others];
}
