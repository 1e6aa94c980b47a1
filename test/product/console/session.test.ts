// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { createSignInAddress } from '../../../src/product/accounts/sign-in/sessions.ts';
import { AccountsStore } from '../../../src/product/accounts/store.ts';
import { openConsole } from '../../support/console.ts';
import { startServer } from '../../support/harness.ts';

const HOURS_MS = 3_600_000;
const clock = { nowMs: Date.now() };
const console = await openConsole(t, { now: () => new Date(clock.nowMs) });
const { server, account } = console;
const FROM_CONSOLE = { 'x-console': '1' };
const SQUARE = { width: 4, height: 4, channels: 3, background: 'teal' } as const;
const store = new AccountsStore(server.stores.documents);

async function newLink(accountId = account.id): Promise<string> {
  const now = new Date(clock.nowMs);
  return (await createSignInAddress(store, server.url, { accountId, now })) ?? '';
}

/** Signs in as the console does. @returns the cookie as a browser sends it. */
async function cookieOf({ email, password } = account, headers: Record<string, string> = FROM_CONSOLE) {
  const answer = await server.call('/auth/cookie', { json: { email, password }, headers });
  return { ...answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

t.test('the session is a cookie that scripts and other pages do not get', async (t) => {
  const { status, headers, json, cookie } = await cookieOf();
  t.equal(status, 201);
  t.match(
    headers.get('set-cookie'),
    /^darkroom-session=ses_\w+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  t.notOk('token' in json.data, 'the token is in the cookie alone');
  t.equal((await server.call('/account', { headers: { cookie } })).json.data.id, account.id);
  const withKey = await server.call('/account', { key: `${account.key}x`, headers: { cookie } });
  t.equal(withKey.status, 401, 'a header goes before the cookie');
  const other = await server.call('/account', { headers: { cookie: 'theme=dark; darkroom-session=x' } });
  t.equal(other.status, 401);
});

t.test('behind https the cookie is for https alone', async (t) => {
  const secure = await startServer(t, { settings: { PUBLIC_URL: 'https://pictures.example.test' } });
  const { email, password } = await secure.account();
  const { headers } = await secure.call('/auth/cookie', { json: { email, password }, headers: FROM_CONSOLE });
  const cookie = headers.get('set-cookie') ?? '';
  t.match(cookie, /^__Host-darkroom-session=ses_\w+; Path=\/; .*; Secure$/);
  const [, value] = /=(\w+);/.exec(cookie) ?? [];
  const planted = await secure.call('/account', { headers: { cookie: `darkroom-session=${value}` } });
  t.equal(planted.status, 401, 'another host of the domain could have set it');
});

t.test('a write by the cookie needs a page of this service', async (t) => {
  const { cookie } = await cookieOf();
  const write = (headers: Record<string, string>) =>
    server.call('/api-keys', { json: { name: 'planted' }, headers: { cookie, ...headers } });
  const host = new URL(server.url).host;
  for (const [why, headers] of [
    ['without the mark, as a form sends it', {}],
    ['from another site', { ...FROM_CONSOLE, 'sec-fetch-site': 'cross-site' }],
    ['from another port of this host', { ...FROM_CONSOLE, 'sec-fetch-site': 'same-site' }],
    [
      'from another origin, of a browser that tells no site',
      { ...FROM_CONSOLE, origin: 'http://other.test' },
    ],
    ['from a page in a frame of its own', { ...FROM_CONSOLE, origin: 'null' }],
  ] as const) {
    const { status, json } = await write(headers);
    t.ok(status === 403 || status === 401, `${why}: ${status}`);
    t.match(json.error.code, /^(forbidden|unauthorized)$/, why);
  }
  const { json: refusal } = await write({});
  t.match(refusal.error, { code: 'forbidden', param: 'X-Console', details: { reason: 'foreign_page' } });
  for (const headers of [
    { origin: `http://${host}` },
    { 'sec-fetch-site': 'same-origin', origin: 'null' },
    {},
  ]) {
    const { status, json } = await write({ ...FROM_CONSOLE, ...headers });
    t.equal(status, 201, JSON.stringify(headers));
    await server.call(`/api-keys/${json.data.id}`, {
      method: 'DELETE',
      headers: { cookie, ...FROM_CONSOLE },
    });
  }
  const read = await server.call('/account', { headers: { cookie, 'sec-fetch-site': 'cross-site' } });
  t.equal(read.status, 401, 'a read that another page makes is anonymous');
  const signIn = await cookieOf(account, {});
  t.equal(signIn.status, 403, 'nobody is signed in to an account of somebody else by a form');
});

t.test(
  'every write answers a page of another origin as it answers nobody, whatever cookie comes with it',
  async (t) => {
    const { cookie } = await cookieOf();
    const { json } = await server.call('//openapi.json');
    const writes = Object.entries(json.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'get')
        .map((method) => ({ method: method.toUpperCase(), path: `/${path.replaceAll(/\{\w+\}/g, 'x')}` })),
    );
    t.ok(writes.length > 40, `${writes.length} writes`);
    const [body, type] = [new TextEncoder().encode('{}'), 'text/plain'];
    for (const { method, path } of writes) {
      const nobody = await server.call(path, { method, body, type });
      for (const foreign of [
        { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
        { 'sec-fetch-site': 'cross-site', origin: 'https://other.test', ...FROM_CONSOLE },
        { origin: 'https://other.test' },
      ]) {
        const { status } = await server.call(path, { method, body, type, headers: { cookie, ...foreign } });
        t.ok(
          [nobody.status, 403].includes(status),
          `${method} ${path}: ${status}, and ${nobody.status} to nobody`,
        );
      }
    }
    t.equal((await server.call('/account', { headers: { cookie } })).status, 200, 'and the session goes on');
  },
);

t.test('a sign-out ends the session wherever its token went', async (t) => {
  const { cookie } = await cookieOf();
  const stolen = cookie.split('=')[1] ?? '';
  t.equal((await server.call('/account', { session: stolen })).status, 200);
  const out = await server.call('/auth/sign-out', { method: 'POST', headers: { cookie, ...FROM_CONSOLE } });
  t.equal(out.status, 204);
  t.match(out.headers.get('set-cookie'), /^darkroom-session=; .*Max-Age=0/);
  t.equal((await server.call('/account', { headers: { cookie } })).status, 401);
  t.equal((await server.call('/account', { session: stolen })).status, 401);
});

t.test(
  'the cookie of a session that is over counts as none where none is needed, and no refusal ends another',
  async (t) => {
    const { cookie } = await cookieOf();
    clock.nowMs += 12 * HOURS_MS;
    const body = new Uint8Array(await sharp({ create: SQUARE }).png().toBuffer());
    const { id } = (await server.call('/assets/upload', { key: account.key, body, type: 'image/png' })).json
      .data;
    for (const path of [
      '/ops',
      '/ops/resize',
      '/agent-guidelines',
      '/fonts',
      '//openapi.json',
      '//console',
    ]) {
      const [anonymous, withCookie] = [
        await server.call(path),
        await server.call(path, { headers: { cookie } }),
      ];
      t.same([anonymous.status, withCookie.status], [200, 200], path);
      t.same(withCookie.headers.get('set-cookie'), null, `${path} may be kept by a cache`);
    }
    for (const path of ['/account', '/credits', `/assets/${id}/content`]) {
      const refused = await server.call(path, { headers: { cookie } });
      t.equal(refused.status, 401, path);
      t.equal(refused.headers.get('set-cookie'), null, `${path}: a new session may have begun meanwhile`);
    }
    const live = (await cookieOf()).cookie;
    for (const [why, headers] of [
      ['it was not looked at', { cookie: live, authorization: `ApiKey ${account.key}x` }],
      ['another page asked', { cookie: live, 'sec-fetch-site': 'cross-site' }],
      ['there is none', {}],
    ] as const) {
      const refused = await server.call('/account', { headers });
      t.same([refused.status, refused.headers.get('set-cookie')], [401, null], why);
    }
    const { email, password } = account;
    const session = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
    const out = await server.call('/auth/sign-out', { method: 'POST', session, headers: { cookie: live } });
    t.same([out.status, out.headers.get('set-cookie')], [204, null], 'the session of a header has no cookie');
    t.equal((await server.call('/account', { headers: { cookie: live } })).status, 200);
  },
);

t.test('a tool for agents that is called by the cookie calls by it, too', async (t) => {
  const { cookie } = await cookieOf();
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'presets', arguments: { action: 'list' } },
  };
  const accept = 'application/json, text/event-stream';
  const { status, bytes } = await server.call('//mcp', {
    json: message,
    headers: { ...FROM_CONSOLE, accept, cookie },
  });
  t.equal(status, 200);
  t.notMatch(bytes.toString(), /"isError":true|unauthorized/);
});

t.test('a link signs in once, within ten minutes', async (t) => {
  const use = (token: string) => server.call('/auth/cookie/link', { json: { token }, headers: FROM_CONSOLE });
  const token = (await newLink()).split('#')[1] ?? '';
  t.equal((await server.call('/account', { session: token })).status, 401, 'a link is no session');
  const both = await Promise.all([use(token), use(token)]);
  t.same(both.map(({ status }) => status).sort(), [201, 401], 'of two at once, one');
  t.match((await use(token)).json.error, { code: 'unauthorized', param: 'token' });
  const late = (await newLink()).split('#')[1] ?? '';
  clock.nowMs += 10 * 60_000;
  t.equal((await use(late)).status, 401);
  const { status, json } = await server.call('/auth/cookie/link', { json: { token: 'lnk_x' } });
  t.same([status, json.error.code], [403, 'forbidden']);
});

t.test('the page is not framed, runs no foreign script, and names no account', async (t) => {
  for (const path of ['/console', '/console/jobs/job_1', '/console/sign-in']) {
    const { status, headers, bytes } = await server.call(`/${path}`);
    t.equal(status, 200, path);
    const policy = headers.get('content-security-policy') ?? '';
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
      t.ok(policy.includes(rule), `${path}: ${rule}`);
    t.notMatch(policy, /unsafe/);
    t.notMatch(bytes.toString(), /<script(?![^>]+src=)|<style| style=| on\w+=/);
  }
});

t.test('a page that opens the console has no hold on its window', async (t) => {
  for (const [site, policy] of [
    [undefined, 'same-origin'],
    ['cross-site', 'same-origin'],
    ['same-site', 'same-origin'],
    ['same-origin', 'same-origin'],
    // The reader typed the address: no page opened it.
    ['none', null],
  ] as const) {
    const { headers } = await server.call('//console', {
      headers: site === undefined ? {} : { 'sec-fetch-site': site },
    });
    t.equal(headers.get('cross-origin-opener-policy'), policy, site ?? 'of a browser that tells no site');
    t.match(headers.get('vary'), /sec-fetch-site/, 'a cache keeps the two apart');
  }
});

t.test('a reader signs in by a password, and out in every tab', async (t) => {
  const { page, context, wrong } = await console.page({ account: null });
  await page.getByLabel('E-mail').fill(account.email);
  await page.getByLabel('Password', { exact: true }).last().fill('wrong password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  t.match(await page.getByRole('alert').innerText(), /unauthorized[\s\S]*password is wrong/);
  t.equal(await page.getByLabel('E-mail').inputValue(), account.email, 'what was typed is kept');
  await page.getByLabel('Password', { exact: true }).last().fill(account.password);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/console/playground');
  const second = await context.newPage();
  await second.goto(`${server.url}/console/presets`);
  await second.getByRole('heading', { name: 'Presets' }).waitFor();
  const [session] = await context.cookies();
  t.match(session, { httpOnly: true, sameSite: 'Strict' });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Darkroom' }).waitFor();
  await second.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  t.equal((await server.call('/account', { session: session?.value ?? '' })).status, 401);
  t.same(
    wrong.filter((line) => !line.includes('401')),
    [],
    'the browser found no fault',
  );
  await context.close();
});

t.test('a link that was printed signs in by being opened, and stands in no address afterwards', async (t) => {
  const link = await newLink();
  const { page, context } = await console.page({ account: null });
  await page.goto(link);
  await page.waitForURL('**/console/playground');
  t.notMatch(await page.evaluate<string>('location.href + JSON.stringify(history.state)'), 'lnk_');
  t.notMatch(server.logged(), /lnk_/);
  await context.clearCookies();
  await page.goto('about:blank');
  await page.goto(link);
  t.match(await page.getByRole('alert').innerText(), /over or was used/);
  await context.close();
});

t.test('a key stays in the memory of the page', async (t) => {
  const { page, context } = await console.page({ account: null, path: '/presets' });
  await page.getByText('API key', { exact: true }).first().click();
  await page.getByLabel('API key').last().fill(`ApiKey ${account.key}`);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Presets' }).waitFor();
  t.equal((await context.cookies()).length, 0);
  t.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Darkroom' }).waitFor();
  await context.close();
});

t.test('a session that ends in the midst keeps what was typed', async (t) => {
  const { page, context } = await console.page({ path: '/templates/new' });
  const html = page.getByLabel('HTML', { exact: true }).last();
  await html.fill('<p>{{ kept }}</p>');
  await page.getByLabel('kept').waitFor();
  clock.nowMs += 12 * HOURS_MS;
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await page.getByLabel('E-mail').fill(account.email);
  await page.getByLabel('Password', { exact: true }).last().fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
  t.equal(await html.inputValue(), '<p>{{ kept }}</p>');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(/\/console\/templates\/tpl_/);
  t.same(await console.undocumented(), []);
  await context.close();
});
