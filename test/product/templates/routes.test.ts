// needs: server, both stores
import t, { type Test } from 'tap';
import { BUILT_IN_TEMPLATES } from '../../../src/product/templates/builtins/index.ts';
import { type Answer, startServer } from '../../support/harness.ts';

const card = { name: 'Card', html: '<p>{{ title }}</p>', width: 600, height: 300 };
const BUILT_IN = 'builtin-template-quote';

/** Moves a second with every call, so that updates follow one another. */
let clockMs = Date.now();
const server = await startServer(t, { now: () => new Date(clockMs) });

/** Calls of a new account. */
async function start() {
  const { key } = await server.account();
  async function call(method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
    clockMs += 1000;
    return server.call(path, { method, key, headers, ...(json === undefined ? {} : { json }) });
  }
  async function create(fields: object = {}): Promise<{ id: string; slug: string }> {
    return (await call('POST', '/templates', { ...card, ...fields })).json.data;
  }
  return { call, create };
}

/** Asserts a refusal by status, code and parameter. */
function refused(t: Test, answer: Answer, status: number, code: string, param?: string, message = '') {
  const { error } = answer.json ?? {};
  t.same([answer.status, error?.code, error?.param], [status, code, param], `${message} ${error?.message}`);
  t.equal(answer.json?.success, false);
}

t.test('POST answers the template at version 1, with a slug and variables of its own', async (t) => {
  const { call } = await start();
  const answer = await call('POST', '/templates', card);
  t.equal(answer.status, 201);
  const { data } = answer.json;
  t.match(data, {
    ...card,
    builtIn: false,
    slug: 'card',
    description: '',
    css: '',
    variables: ['title'],
    version: 1,
  });
  t.match(data.id, /^tpl_[0-9A-Za-z]{16,}$/);
  t.equal(data.createdAt, data.updatedAt);
  t.equal((await call('POST', '/templates', card)).json.data.slug, 'card-2');
  t.equal((await call('POST', '/templates', { ...card, slug: 'mine' })).json.data.slug, 'mine');
});

t.test('POST refuses every field that breaks its rule', async (t) => {
  const { call, create } = await start();
  await create({ slug: 'taken' });
  const rows: Array<[param: string, fields: object]> = [
    ['name', { name: undefined }],
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(201) }],
    ['name', { name: 7 }],
    ['description', { description: 'x'.repeat(10_001) }],
    ['html', { html: undefined }],
    ['html', { html: '' }],
    ['html', { html: 'é'.repeat(128 * 1024 + 1) }],
    ['css', { css: 'x'.repeat(128 * 1024 + 1) }],
    ['width', { width: undefined }],
    ['width', { width: 0 }],
    ['width', { width: 4097 }],
    ['width', { width: '600' }],
    ['height', { height: undefined }],
    ['height', { height: 0 }],
    ['height', { height: 1.5 }],
    ['variables', { variables: Array.from({ length: 101 }, (_, index) => `v${index}`) }],
    ['variables', { variables: ['a b'] }],
    ['variables', { variables: ['a'.repeat(201)] }],
    ['variables', { html: `{{ ${'a'.repeat(201)} }}` }],
    ['variables', { variables: [1] }],
    ['variables', { variables: 'a' }],
    ['variables', { html: Array.from({ length: 101 }, (_, index) => `{{ v${index} }}`).join('') }],
    ['slug', { slug: 'Not A Slug' }],
    ['slug', { slug: '' }],
    ['slug', { slug: 'builtin-mine' }],
    ['slug', { slug: 'taken' }],
  ];
  for (const [param, fields] of rows) {
    const answer = await call('POST', '/templates', { ...card, ...fields });
    refused(t, answer, 400, 'invalid_param', param, JSON.stringify(fields).slice(0, 60));
  }
  refused(t, await call('POST', '/templates', []), 400, 'invalid_param', 'body');
});

t.test('a slug is lowercase letters, digits and hyphens, wherever the hyphens stand', async (t) => {
  const { call } = await start();
  for (const slug of ['a-', '-', 'a--b-', '-7']) {
    const answer = await call('POST', '/templates', { ...card, slug });
    t.equal(answer.status, 201, slug);
    t.equal((await call('GET', `/templates/${slug}`)).json.data.id, answer.json.data.id);
  }
});

t.test('a filter that is none is told those that there are', async (t) => {
  const { call } = await start();
  const answer = await call('GET', '/templates?filter=x');
  refused(t, answer, 400, 'invalid_param', 'filter');
  t.match(answer.json.error, { message: /builtin, user/, details: { allowed: ['builtin', 'user'] } });
});

t.test('the two hundred and first template is refused, alone and in an import', async (t) => {
  const { call } = await start();
  const many = (count: number) => Array.from({ length: count }, () => card);
  const endless = await call('POST', '/templates/import', Array(500_000).fill(0));
  refused(t, endless, 422, 'resource_limit_exceeded');
  t.same(endless.json.error.details, { limit: 2_000, received: 500_000 });
  const over = await call('POST', '/templates/import', many(201));
  refused(t, over, 422, 'resource_limit_exceeded');
  t.same(over.json.error.details, { limit: 200, left: 200 });
  t.equal((await call('GET', '/templates?filter=user')).json.meta.total, 0, 'nothing was imported');
  const answer = await call('POST', '/templates/import', [
    ...many(199),
    ...Array(2).fill({ name: 'refused' }),
  ]);
  t.equal(answer.status, 201);
  t.equal(answer.json.data.importedCount, 199);
  refused(t, await call('POST', '/templates/import', many(2)), 422, 'resource_limit_exceeded');
  t.equal((await call('POST', '/templates', card)).status, 201);
  refused(t, await call('POST', '/templates', card), 422, 'resource_limit_exceeded');
  refused(t, await call('POST', '/templates/import', [card]), 422, 'resource_limit_exceeded');
});

t.test('import lands what it can, in order, and names what it refused', async (t) => {
  const { call } = await start();
  const sent = [
    { ...card, name: 'One', version: 9, id: 'tpl_x', slug: 'Not a slug', createdAt: '1999' },
    { ...card, width: 0 },
    { ...card, name: 'One', slug: 'kept' },
  ];
  const { status, json } = await call('POST', '/templates/import', sent);
  t.equal(status, 201);
  t.same(
    json.data.data.map(({ slug, version }: { slug: string; version: number }) => [slug, version]),
    [
      ['one', 1],
      ['one-2', 1],
    ],
  );
  t.equal(json.data.importedCount, 2);
  t.equal(json.data.errors.length, 1);
  t.match(json.data.errors[0], /1.*width/);
  t.notOk('errors' in (await call('POST', '/templates/import', [card])).json.data);
  const none = await call('POST', '/templates/import', [null]);
  t.match(none, { status: 201, json: { data: { data: [], importedCount: 0 } } });
  for (const body of [[], {}, 'text', null]) {
    refused(
      t,
      await call('POST', '/templates/import', body),
      400,
      'invalid_param',
      'body',
      JSON.stringify(body),
    );
  }
});

t.test('GET reads by id, by slug and by version', async (t) => {
  const { call, create } = await start();
  const { id, slug } = await create();
  for (const name of [id, slug]) t.equal((await call('GET', `/templates/${name}`)).json.data.id, id);
  for (const name of [`${id}@1`, `${slug}@1`]) {
    const { data } = (await call('GET', `/templates/${name}`)).json;
    t.match(data, { ...card, id: `${id}@1`, version: 1, builtIn: false });
    for (const field of ['slug', 'description', 'updatedAt']) t.notOk(field in data, field);
  }
  for (const version of ['0', '-1', '1.5', 'x', '']) {
    refused(t, await call('GET', `/templates/${id}@${version}`), 400, 'invalid_param', 'templateId', version);
  }
  for (const name of [`${id}@2`, 'tpl_unknown', 'unknown', 'unknown@1', `${id}@99999999999999999999`]) {
    refused(t, await call('GET', `/templates/${name}`), 404, 'not_found', 'templateId', name);
  }
});

t.test('a built-in is read like any other, and never written', async (t) => {
  const { call } = await start();
  t.match((await call('GET', `/templates/${BUILT_IN}`)).json.data, {
    id: BUILT_IN,
    builtIn: true,
    version: 1,
    width: 1080,
  });
  t.match((await call('GET', `/templates/${BUILT_IN}@1`)).json.data, { id: `${BUILT_IN}@1`, builtIn: true });
  refused(t, await call('GET', `/templates/${BUILT_IN}@2`), 404, 'not_found', 'templateId');
  t.equal((await call('PUT', `/templates/${BUILT_IN}`, { name: 'Mine' })).json.error.code, 'forbidden');
  t.equal((await call('DELETE', `/templates/${BUILT_IN}`)).json.error.code, 'forbidden');
  const { data } = (await call('GET', `/templates/${BUILT_IN}/versions`)).json;
  t.equal(data.length, 1);
  t.match(data[0], {
    builtIn: true,
    version: 1,
    html: BUILT_IN_TEMPLATES.find(({ _id }) => _id === BUILT_IN)?.html,
  });
});

t.test('PUT merges over the current version and keeps the one before', async (t) => {
  const { call, create } = await start();
  const { id, slug } = await create({ css: 'p{}', description: 'old' });
  const first = (await call('PUT', `/templates/${slug}`, { name: 'Renamed' })).json.data;
  t.match(first, { ...card, name: 'Renamed', css: 'p{}', description: 'old', slug, version: 2 });
  t.ok(first.updatedAt > first.createdAt);
  const second = (await call('PUT', `/templates/${id}`, { css: '', description: '', html: '{{ other }}' }))
    .json.data;
  t.match(second, { css: '', description: '', variables: ['other'], version: 3, createdAt: first.createdAt });
  t.equal((await call('PUT', `/templates/${id}`, {})).json.data.version, 4);

  const old = (await call('GET', `/templates/${slug}@2`)).json.data;
  t.match(old, { id: `${id}@2`, name: 'Renamed', html: card.html, css: 'p{}', createdAt: first.updatedAt });
  const versions = (await call('GET', `/templates/${id}/versions`)).json;
  t.same(
    versions.data.map((row: { id: string }) => row.id),
    [4, 3, 2, 1].map((version) => `${id}@${version}`),
  );
  t.same(versions.data[2], old);
  t.equal(versions.success, true);
  t.notOk('meta' in versions);
});

t.test('a template of many versions lists every one of them', async (t) => {
  const { call, create } = await start();
  const { id } = await create();
  for (let version = 2; version <= 40; version++)
    await call('PUT', `/templates/${id}`, { name: `v${version}` });
  const { data } = (await call('GET', `/templates/${id}/versions`)).json;
  t.same(
    data.map((row: { version: number }) => row.version),
    Array.from({ length: 40 }, (_, index) => 40 - index),
  );
});

t.test('PUT refuses what create refuses, a taken slug, a version and what is not there', async (t) => {
  const { call, create } = await start();
  const { id } = await create();
  await create({ slug: 'taken' });
  const rows: Array<[param: string, body: object]> = [
    ['name', { name: ' ' }],
    ['html', { html: '' }],
    ['html', { html: 'x'.repeat(256 * 1024 + 1) }],
    ['css', { css: 'x'.repeat(128 * 1024 + 1) }],
    ['width', { width: 0 }],
    ['height', { height: 4097 }],
    ['variables', { variables: ['a b'] }],
    ['variables', { variables: [1] }],
    ['variables', { variables: 'a' }],
    ['variables', { html: Array.from({ length: 101 }, (_, index) => `{{ v${index} }}`).join('') }],
    ['slug', { slug: 'Bad Slug' }],
    ['slug', { slug: 'builtin-mine' }],
    ['slug', { slug: 'taken' }],
  ];
  for (const [param, body] of rows) {
    const answer = await call('PUT', `/templates/${id}`, body);
    refused(t, answer, 400, 'invalid_param', param, JSON.stringify(body).slice(0, 60));
  }
  t.equal((await call('GET', `/templates/${id}`)).json.data.version, 1);
  t.equal((await call('PUT', `/templates/${id}`, { slug: 'moved' })).json.data.slug, 'moved');

  for (const method of ['PUT', 'DELETE']) {
    for (const name of ['tpl_unknown', `${id}@1`, `${id}@x`, `${BUILT_IN}@1`]) {
      const answer = await call(method, `/templates/${name}`, method === 'PUT' ? { name: 'New' } : undefined);
      refused(t, answer, 404, 'not_found', 'templateId', `${method} ${name}`);
    }
  }
  for (const name of ['tpl_unknown', `${id}@1`, `${BUILT_IN}@1`]) {
    refused(t, await call('GET', `/templates/${name}/versions`), 404, 'not_found', 'templateId', name);
  }
  const other = await server.account();
  const theirs = await server.call(`/templates/${id}`, {
    method: 'PUT',
    key: other.key,
    json: { name: 'Theirs' },
  });
  refused(t, theirs, 404, 'not_found', 'templateId');
});

t.test('DELETE answers 204 without a body, and every version is gone', async (t) => {
  const { call, create } = await start();
  const { id, slug } = await create();
  await call('PUT', `/templates/${id}`, { name: 'Two' });
  const answer = await call('DELETE', `/templates/${slug}`);
  t.equal(answer.status, 204);
  t.equal(answer.bytes.length, 0);
  for (const name of [id, slug, `${id}@1`, `${id}@2`]) {
    refused(t, await call('GET', `/templates/${name}`), 404, 'not_found', 'templateId', name);
  }
});

t.test('the listing has the built-ins first, then the latest update, in pages and by cursor', async (t) => {
  const { call, create } = await start();
  const made = [await create({ name: 'A' }), await create({ name: 'B' }), await create({ name: 'C' })];
  await call('PUT', `/templates/${made[0]?.id}`, { name: 'A again' });
  const order = [...BUILT_IN_TEMPLATES.map(({ _id }) => _id), ...[0, 2, 1].map((index) => made[index]?.id)];
  const ids = (answer: Answer) => answer.json.data.map(({ id }: { id: string }) => id);

  const whole = await call('GET', '/templates');
  t.same(ids(whole), order);
  t.same(whole.json.meta, { total: order.length, page: 0, perPage: 100, hasMore: false, nextCursor: null });
  t.notOk(whole.json.data.some((row: object) => 'html' in row || 'css' in row));
  t.same(ids(await call('GET', '/templates?filter=builtin')), order.slice(0, BUILT_IN_TEMPLATES.length));
  t.same(ids(await call('GET', '/templates?filter=user')), order.slice(BUILT_IN_TEMPLATES.length));

  for (const perPage of [1, 2, 3, 5]) {
    const paged: string[] = [];
    for (let page = 0; page * perPage < order.length; page++) {
      paged.push(...ids(await call('GET', `/templates?page=${page}&perPage=${perPage}`)));
    }
    t.same(paged, order, `pages of ${perPage}`);
    const walked: string[] = [];
    let cursor: string | null = '';
    for (let steps = 0; cursor !== null && steps <= order.length; steps++) {
      const answer: Answer = await call(
        'GET',
        `/templates?perPage=${perPage}${cursor && `&cursor=${cursor}`}`,
      );
      walked.push(...ids(answer));
      t.equal('total' in answer.json.meta, cursor === '');
      cursor = answer.json.meta.nextCursor;
    }
    t.same(walked, order, `cursors of ${perPage}`);
  }
});

t.test('the listing refuses an unknown filter and a cursor that is not its own', async (t) => {
  const { call } = await start();
  refused(t, await call('GET', '/templates?filter=mine'), 400, 'invalid_param', 'filter');
  refused(t, await call('GET', '/templates?cursor=nonsense'), 400, 'invalid_param', 'cursor');
  const { nextCursor } = (await call('GET', '/templates?perPage=1')).json.meta;
  refused(
    t,
    await call('GET', `/templates?filter=builtin&cursor=${nextCursor}`),
    400,
    'invalid_param',
    'cursor',
  );
  refused(t, await call('GET', `/templates?page=0&cursor=${nextCursor}`), 400, 'invalid_param', 'cursor');
});

t.test('a repeated write under one Idempotency-Key is one write', async (t) => {
  const { call } = await start();
  const headers = { 'idempotency-key': 'create-1' };
  const first = await call('POST', '/templates', card, headers);
  const again = await call('POST', '/templates', card, headers);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.same(again.bytes, first.bytes);
  t.equal((await call('GET', '/templates?filter=user')).json.meta.total, 1);
});

t.test('no call is answered without a credential', async (t) => {
  for (const [method, path] of [
    ['GET', '/templates'],
    ['GET', `/templates/${BUILT_IN}`],
    ['GET', `/templates/${BUILT_IN}/versions`],
    ['DELETE', '/templates/x'],
  ] as const) {
    refused(t, await server.call(path, { method }), 401, 'unauthorized', 'Authorization');
  }
});
