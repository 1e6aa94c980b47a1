// needs: server
import t from 'tap';
import { OperatorSessions } from '../../../src/host/operator/access.ts';
import { type CallOptions, startServer } from '../../support/harness.ts';

const TOKEN = 'a-token-of-an-operator-for-tests';
const OWN_PAGE = { 'x-console': '1' };
const CALLS: ReadonlyArray<readonly [path: string, call?: CallOptions]> = [
  ['/state'],
  ['/findings'],
  ['/runs'],
  ['/runs/smoke.json'],
  ['/settings', { json: { setting: 'IMAGE_THREADS', value: 2 } }],
  ['/drains', { json: { process: 'test-host/1' } }],
  ['/log-level', { json: { level: 'debug' } }],
  ['/session', { method: 'DELETE' }],
];
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The cookie that an answer set, as a browser sends it back. */
function cookieOf(headers: Headers): { cookie: string } {
  return { cookie: (headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
}

t.test('with a token that is set, nothing is open without it', async (t) => {
  const server = await startServer(t, { settings: { OPERATOR_TOKEN: TOKEN } });
  const call = (path: string, options?: CallOptions) => server.call(`//operator/v1${path}`, options);
  const { key, email, password } = await server.account();
  const session = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
  const credentials: Record<string, string>[] = [
    {},
    { authorization: `ApiKey ${key}` },
    bearer(key),
    bearer(session),
    bearer(`${TOKEN}x`),
    bearer(TOKEN.slice(1)),
    { authorization: TOKEN },
    { cookie: `darkroom-operator=ops_${'a'.repeat(40)}` },
    { cookie: `darkroom-operator=${TOKEN}` },
    { cookie: 'darkroom-operator=' },
  ];
  for (const [path, options = {}] of CALLS)
    for (const headers of credentials) {
      const { status, json } = await call(path, { ...options, headers: { ...OWN_PAGE, ...headers } });
      // Too many wrong ones from one address are refused before they are looked at.
      t.ok([401, 429].includes(status), `${path} with ${JSON.stringify(headers)}: ${status}`);
      t.notMatch(JSON.stringify(json), TOKEN);
    }
});

t.test('the token opens everything, and an answer is for nobody else', async (t) => {
  const server = await startServer(t, {
    settings: { OPERATOR_TOKEN: TOKEN, CORS_ORIGINS: 'https://app.example.com' },
  });
  const call = (path: string, options?: CallOptions) => server.call(`//operator/v1${path}`, options);
  const headers = bearer(TOKEN);
  const state = await call('/state', { headers });
  t.same([state.status, state.headers.get('cache-control')], [200, 'no-store']);
  t.match(state.json.data, { verdict: { tone: 'bad', sentence: /No primary process answered/ }, hosts: [] });
  const foreign = await call('/state', { headers: { ...headers, origin: 'https://evil.example.com' } });
  t.equal(foreign.headers.get('access-control-allow-origin'), null);
  t.equal(server.logged().includes(TOKEN), false);

  t.match((await call('/log-level', { headers, json: { level: 'warn', for: '10m' } })).json.data.lines, [
    /warn/,
  ]);
  const rows: ReadonlyArray<
    readonly [path: string, json: object, code: string, param: string, message: RegExp]
  > = [
    ['/settings', { setting: 'DATA_DIR', value: 1 }, 'invalid_param', 'setting', /IMAGE_THREADS/],
    ['/settings', { setting: 'IMAGE_WAIT_MS', value: 1 }, 'invalid_param', 'value', /50 to 60000/],
    ['/settings', { setting: 'IMAGE_THREADS', value: 64 }, 'invalid_param', 'value', /"yes": true/],
    ['/settings', { setting: 'IMAGE_THREADS' }, 'invalid_param', 'value', /value/],
    ['/drains', { process: 'x' }, 'invalid_param', 'process', /HOST\/PROCESS/],
    ['/drains', { process: 'nobody/1' }, 'invalid_param', 'process', /No host nobody/],
    ['/log-level', { level: 'loud' }, 'invalid_param', 'level', /loud/],
    ['/log-level', { level: 'debug', for: '10' }, 'invalid_param', 'for', /10m/],
    ['/log-level', { level: 'debug', for: '99999999h' }, 'invalid_param', 'for', /576h/],
    ['/log-level', { level: 'debug', for: '0m' }, 'invalid_param', 'for', /10m/],
    ['/log-level', { level: '--json' }, 'invalid_param', 'level', /LEVEL/],
    ['/settings', { setting: 'IMAGE_THREADS', value: 1e300 }, 'invalid_param', 'value', /IMAGE_THREADS/],
    ['/settings', { setting: '__proto__', value: 1 }, 'invalid_param', 'setting', /IMAGE_THREADS/],
    ['/session', {}, 'invalid_param', 'token', /link/],
    ['/session', { token: TOKEN, link: 'opl_x' }, 'invalid_param', 'token', /link/],
  ];
  for (const [path, json, code, param, message] of rows) {
    const refused = await call(path, { headers, json });
    t.match(refused.json.error, { code, param, message }, `${path} ${JSON.stringify(json)}`);
    t.equal(refused.status, 400);
  }
  const late = await call('/settings', { headers, json: { setting: 'IMAGE_QUEUE', value: 40 } });
  t.match(
    late.json.error,
    { code: 'invalid_state', message: /not in force yet on test-host/ },
    'there is no primary in this test',
  );
});

t.test('a session is a cookie that scripts cannot read, and ends when it is told to', async (t) => {
  const server = await startServer(t, {
    settings: { OPERATOR_TOKEN: TOKEN, PUBLIC_URL: 'https://pictures.example.com' },
  });
  const call = (path: string, options?: CallOptions) => server.call(`//operator/v1${path}`, options);
  const opened = await call('/session', { json: { token: TOKEN }, headers: OWN_PAGE });
  t.equal(opened.status, 204);
  t.match(
    opened.headers.get('set-cookie'),
    /^__Host-darkroom-operator=ops_\w{40}; .*HttpOnly; SameSite=Strict; Secure$/,
  );
  const cookie = cookieOf(opened.headers);
  t.equal((await call('/state', { headers: cookie })).status, 200);

  const change = { json: { level: 'info' } };
  t.equal(
    (await call('/log-level', { ...change, headers: cookie })).status,
    403,
    'without the header of the page',
  );
  for (const site of ['cross-site', 'same-site']) {
    const headers = { ...cookie, ...OWN_PAGE, 'sec-fetch-site': site };
    t.ok([401, 403].includes((await call('/log-level', { ...change, headers })).status), site);
    t.ok(
      [401, 403].includes((await call('/state', { headers: { ...cookie, 'sec-fetch-site': site } })).status),
      site,
    );
  }
  const unmarked = await call('/log-level', { ...change, headers: cookie });
  t.match(unmarked.json.error.message, /programs send "Authorization: Bearer <OPERATOR_TOKEN>"/);
  const byForm = { body: 'level=debug', type: 'application/x-www-form-urlencoded', headers: cookie };
  t.ok([403, 415].includes((await call('/log-level', byForm)).status));
  t.equal((await call('/log-level', { ...change, headers: { ...cookie, ...OWN_PAGE } })).status, 200);

  const ended = await call('/session', { method: 'DELETE', headers: { ...cookie, ...OWN_PAGE } });
  t.equal(ended.status, 204);
  t.match(ended.headers.get('set-cookie'), /^__Host-darkroom-operator=; .*Max-Age=0.*; Secure$/);
  // A flag of coordination ends within a millisecond.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const over = await call('/state', { headers: cookie });
  t.equal(over.status, 401, 'a copy of the cookie is worth nothing');
  t.equal(over.headers.get('set-cookie'), null, 'a late refusal leaves the cookie of a new session');
});

t.test('without a token, a one-time link alone opens what does not exist for others', async (t) => {
  let nowMs = Date.now();
  const server = await startServer(t, { now: () => new Date(nowMs) });
  const call = (path: string, options?: CallOptions) => server.call(`//operator/v1${path}`, options);
  for (const [path, options = {}] of CALLS)
    for (const headers of [{}, bearer(''), bearer('anything-of-twenty-four-characters')]) {
      const { status } = await call(path, { ...options, headers: { ...OWN_PAGE, ...headers } });
      t.equal(status, 404, `${path} with ${JSON.stringify(headers)}`);
    }
  const sessions = new OperatorSessions(server.stores.coordination);
  const open = (link: string) => call('/session', { json: { link }, headers: OWN_PAGE });
  const link = await sessions.createLink();
  t.equal((await open(link.slice(0, -1))).status, 404);
  t.equal(
    (await call('/session', { json: { token: '' }, headers: OWN_PAGE })).status,
    404,
    'no token is no credential',
  );
  const uses = await Promise.all(Array.from({ length: 8 }, () => open(link)));
  t.same(uses.map(({ status }) => status).sort(), [204, 404, 404, 404, 404, 404, 404, 404], 'it works once');
  const opened = uses.find(({ status }) => status === 204);
  t.equal((await call('/state', { headers: cookieOf(opened?.headers ?? new Headers()) })).status, 200);
  const late = await sessions.createLink();
  nowMs += 10 * 60_000 + 1;
  t.equal((await open(late)).status, 404, 'after ten minutes');
});

t.test('wrong tokens are counted, and too many are refused before they are looked at', async (t) => {
  const server = await startServer(t, {
    settings: { OPERATOR_TOKEN: TOKEN, FAILED_AUTHENTICATIONS_PER_MINUTE: '3' },
  });
  const call = (path: string, options?: CallOptions) => server.call(`//operator/v1${path}`, options);
  const guess = () => call('/state', { headers: bearer('wrong-wrong-wrong-wrong-wrong') });
  t.equal((await call('/state', { headers: bearer(TOKEN) })).status, 200, 'a right one counts nothing');
  for (let count = 0; count < 3; count += 1) t.equal((await guess()).status, 401);
  const refused = await guess();
  t.match([refused.status, refused.json.error.details.reason], [429, 'failed_authentications']);
  t.equal((await call('/state', { headers: bearer(TOKEN) })).status, 429, 'the right one too');
  const { key } = await server.account();
  t.equal((await server.call('/account', { key })).status, 429, 'as every credential from this address');
});
