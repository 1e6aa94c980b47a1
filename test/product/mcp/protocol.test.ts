// needs: server
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { MAX_WAITING_JOB_CALLS } from '../../../src/product/accounts/gate/gate.ts';
import { startServer } from '../../support/harness.ts';
import { call, connectedTo, REVISIONS } from './client.ts';

const server = await startServer(t, { settings: { CORS_ORIGINS: 'https://app.example' } });
const { key } = await server.account({ credits: 1_000 });
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const BOTH = { accept: 'application/json, text/event-stream' };

/** Posts a message of the revision 2025-11-25, which needs no handshake here; with the key unless another is sent. */
function post(body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const sent = { ...BOTH, authorization: `ApiKey ${key}`, 'content-type': 'application/json', ...headers };
  return server.call('//mcp', { method: 'POST', body: text, headers: sent });
}

/** The message in an event stream. */
const eventIn = (bytes: Buffer) => JSON.parse(/^data: (.*)$/m.exec(bytes.toString())?.[1] ?? 'null');

t.test('a key is needed, as ApiKey or as Bearer, and a refusal is no message', async (t) => {
  for (const authorization of [`ApiKey ${key}`, `Bearer ${key}`, `bearer ${key}`]) {
    const answer = await post(LIST, { authorization });
    t.equal(answer.status, 200, authorization.slice(0, 7));
    t.equal(eventIn(answer.bytes).result.tools.length, 9);
  }
  const wrong = `Bearer drk_${'x'.repeat(40)}`;
  for (const authorization of [wrong, 'Bearer drk_short', 'Basic abc', key]) {
    const answer = await post(LIST, { authorization });
    t.match(
      answer,
      { status: 401, json: { success: false, error: { code: 'unauthorized' } } },
      authorization.slice(0, 7),
    );
    t.notOk('jsonrpc' in answer.json);
    t.match(answer.headers.get('www-authenticate'), /Bearer/);
  }
  const bare = await server.call('//mcp', { method: 'POST', json: LIST, headers: BOTH });
  t.match(bare, { status: 401, json: { error: { code: 'unauthorized' } } });
  const elsewhere = await server.call('/credits', { headers: { authorization: `Bearer ${key}` } });
  t.match(
    elsewhere,
    { status: 401, json: { error: { message: /sent as Bearer/ } } },
    'the interface takes ApiKey alone',
  );
});

t.test('what is no message gets the error of JSON-RPC that says so', async (t) => {
  const rows: Array<[what: string, body: unknown, status: number, code: number]> = [
    ['no JSON', '{"jsonrpc"', 400, -32_700],
    ['nothing', '', 400, -32_700],
    ['too deep', `${'['.repeat(300)}${']'.repeat(300)}`, 400, -32_700],
    ['a batch', [LIST, LIST], 400, -32_600],
    ['an empty batch', [], 400, -32_600],
  ];
  for (const [what, body, status, code] of rows) {
    const answer = await post(body);
    t.match(answer, { status, json: { jsonrpc: '2.0', error: { code }, id: null } }, what);
  }
  for (const body of [
    '1',
    'null',
    '"x"',
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    '{"id":1}',
  ]) {
    const answer = await post(body);
    t.ok(answer.status >= 400 && answer.status < 500, `${body}: ${answer.status}`);
    t.type(answer.json?.error?.code, 'number', body);
  }
  const ping = await post({ ...LIST, method: 'ping' });
  t.same(eventIn(ping.bytes), { jsonrpc: '2.0', id: 1, result: {} });
  for (const method of ['completion/complete', 'subscriptions/listen', 'resources/subscribe']) {
    const unknown = await post({ ...LIST, method });
    t.match(eventIn(unknown.bytes) ?? unknown.json, { id: 1, error: { code: -32_601 } }, method);
  }
  const noTool = await post({ ...LIST, method: 'tools/call', params: { name: 'rm', arguments: {} } });
  t.match(eventIn(noTool.bytes) ?? noTool.json, { id: 1, error: { code: -32_602, message: /no tool "rm"/ } });
  const notification = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  t.same([notification.status, notification.bytes.length], [202, 0]);
});

t.test('wrong types, methods and revisions are refused', async (t) => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])
    t.equal((await post(LIST, { 'content-type': type })).status, 415, type);
  t.equal((await post(LIST, { accept: 'image/png' })).status, 406);
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const answer = await server.call('//mcp', { method, key });
    t.same([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
  }
  const old = await post(LIST, { 'mcp-protocol-version': '1999-01-01' });
  t.match(old, { status: 400, json: { jsonrpc: '2.0', error: { code: Number } } });
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2099-01-01',
    'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const later = await post({ ...LIST, params: { _meta } }, { 'mcp-protocol-version': '2099-01-01' });
  t.match(later, {
    status: 400,
    json: { error: { code: -32_022, data: { supported: ['2026-07-28'] } }, id: 1 },
  });
});

t.test('a page of a foreign origin is refused, also by a name of its own for the service', async (t) => {
  for (const origin of [
    'https://evil.example',
    'null',
    'http://localhost:1',
    'https://app.example.evil.example',
  ]) {
    const answer = await post(LIST, { origin });
    t.match(answer, { status: 403, json: { error: { code: 'forbidden', param: 'Origin' } } }, origin);
  }
  for (const origin of ['https://app.example', server.url])
    t.equal((await post(LIST, { origin })).status, 200, origin);
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
  const preflight = await server.call('//mcp', { method: 'OPTIONS', headers });
  t.same(
    [preflight.status, preflight.headers.get('access-control-allow-origin')],
    [204, 'https://app.example'],
  );
  t.match(preflight.headers.get('access-control-allow-headers'), /MCP-Protocol-Version/);
});

t.test('huge and odd arguments are refused by the interface, and the service goes on', async (t) => {
  const client = await connectedTo(t, server.url, key);
  const deep = JSON.parse(`${'{"a":'.repeat(150)}1${'}'.repeat(150)}`);
  const rows: Array<[name: string, args: Record<string, unknown>]> = [
    ['ops', { name: 'x'.repeat(1_000_000) }],
    ['ops', { name: '../account' }],
    ['job', { action: 'get', id: '../credits?x=' }],
    ['presets', { action: 'get', preset: 'a/../../credits' }],
    ['run', { input: 'x'.repeat(5_000) }],
    ['run', { input: `ast_${'1'.repeat(24)}`, steps: [{ op: 'x'.repeat(500_000) }] }],
    ['run', { input: `ast_${'1'.repeat(24)}`, steps: [{ op: 'flip', parameters: deep }] }],
    ['render', { html: 'x'.repeat(300_000), width: 10, height: 10 }],
    ['render', { html: 'x', width: 10, height: 10, data: deep, nothing: 1 }],
  ];
  for (const [name, args] of rows) {
    const answer = await call(client, name, args);
    t.match(answer, { isError: true, data: { error: { code: String } } }, name);
    t.not(answer.data.error.code, 'internal_error', `${name}: ${answer.text.slice(0, 200)}`);
    t.ok(answer.text.length < 12_000, `${name} answers ${answer.text.length} characters`);
  }
  const large = await post(
    `{"jsonrpc":"2.0","id":1,"method":"tools/list","x":"${'x'.repeat(9 * 1024 * 1024)}"}`,
  );
  t.match(large, { status: 413, json: { error: { code: 'payload_too_large' } } });
  t.equal((await post(LIST)).status, 200);
});

t.test('each call of a tool counts against the limits of the account', async (t) => {
  const caller = await server.account({ plan: 'free' });
  const client = await connectedTo(t, server.url, caller.key);
  const left = async () =>
    Number((await server.call('/credits', { key: caller.key })).headers.get('ratelimit-remaining'));
  const before = await left();
  await call(client, 'presets', { action: 'list' });
  t.equal(before - (await left()), 3, 'the message, the call that it makes, and the one that asks');
});

for (const revision of REVISIONS) {
  t.test(`a call that a client of ${revision} cancels ends its work`, async (t) => {
    const caller = await server.account({ credits: 1_000 });
    const client = await connectedTo(t, server.url, caller.key, revision);
    const submit = { action: 'submit', op: 'generate', prompt: 'A [sandbox:wait=20000]' };
    const { id } = (await call(client, 'job', submit)).data;
    const direct = async () => (await server.call(`/jobs/${id}?wait=1`, { key: caller.key })).status;
    const cancel = new AbortController();
    // The first direct call may take a slot before the last of them: that one asks again.
    const wait = async (): Promise<string> => {
      const args = { action: 'get', id, wait: 50 };
      const answer = await call(client, 'job', args, cancel.signal).catch(() => null);
      return answer === null ? 'cancelled' : answer.isError ? sleep(20).then(wait) : 'ended';
    };
    const waiting = Array.from({ length: MAX_WAITING_JOB_CALLS }, wait);
    t.ok(await eventually(async () => (await direct()) === 429), 'all waits of the account are open');
    const other = await connectedTo(t, server.url, caller.key);
    const refused = await call(other, 'job', { action: 'get', id, wait: 1 });
    t.match(refused.data.error, { code: 'rate_limited', retryable: true, retryAfterSeconds: 1 });
    // Without sessions, a notice of 2025-11-25 finds no call: its client ends one with the connection.
    if (revision === '2025-11-25') await client.close();
    else cancel.abort('The user pressed stop.');
    t.same(new Set(await Promise.all(waiting)), new Set(['cancelled']));
    t.ok(await eventually(async () => (await direct()) === 200), 'none is open any more');
  });
}

/** Waits, at most 400 times 25 ms, until a condition holds. @returns whether it does. */
async function eventually(holds: () => Promise<boolean>): Promise<boolean> {
  for (let poll = 0; poll < 400; poll += 1) {
    if (await holds()) return true;
    await sleep(25);
  }
  return false;
}

t.test('neither a key nor an argument is logged', async (t) => {
  const client = await connectedTo(t, server.url, key);
  await call(client, 'job', {
    action: 'submit',
    op: 'generate',
    prompt: 'a very private prompt',
    dryRun: true,
  });
  await call(client, 'look', { input: 'ast_private' });
  await post('{"secret argument');
  const logged = server.logged();
  t.match(logged, /"route":"\/mcp"/);
  t.notOk(logged.includes(key));
  t.notMatch(logged, /private|secret argument/);
});
