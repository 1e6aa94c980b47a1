// needs: server, both stores
import t from 'tap';
import { BUILT_IN_PRESETS } from '../../../src/product/presets/builtins.ts';
import type { Answer } from '../../support/harness.ts';
import { numbered, preset, refused, start } from './harness.ts';

const BUILT_IN = 'builtin-avatar';

t.test('POST answers the preset at version 1, with a slug of its own and its warnings', async (t) => {
  const { call } = await start();
  const answer = await call('POST', '/presets', preset);
  t.equal(answer.status, 201);
  const { data } = answer.json;
  t.match(data, { ...preset, builtIn: false, slug: 'small', description: '', subjects: [], warnings: [] });
  t.match(data, { version: 1, versionCount: 1, versions: [] });
  t.match(data.id, /^pre_[0-9A-Za-z]{16,}$/);
  t.equal(data.createdAt, data.updatedAt);
  t.notOk('usage' in data);
  t.equal((await call('POST', '/presets', preset)).json.data.slug, 'small-2');
  t.equal((await call('POST', '/presets', { ...preset, slug: 'mine' })).json.data.slug, 'mine');
});

t.test('GET reads by id, slug and version, with usage, in the shape of an export', async (t) => {
  const { call, create } = await start();
  const { id, slug } = await create({ description: 'text' });
  await call('PUT', `/presets/${slug}`, { steps: numbered(200) });
  const second = (await call('GET', `/presets/${slug}`)).json.data;
  t.match(second, { id, slug, version: 2, versionCount: 2, usage: { runs: 0 }, steps: numbered(200) });
  t.notOk('lastRunAt' in second.usage);
  t.notOk('warnings' in second);
  t.match(second.versions, [{ version: 1, steps: numbered(100), subjects: [] }]);
  for (const name of [id, `${id}@2`, `${slug}@2`, `${slug}?version=2`]) {
    t.same((await call('GET', `/presets/${name}`)).json.data, second, name);
  }
  for (const name of [`${id}@1`, `${slug}@1`, `${slug}?version=1`, `${slug}@01`]) {
    const { data } = (await call('GET', `/presets/${name}`)).json;
    t.match(data, { id, slug, version: 1, steps: numbered(100), versionCount: 2, usage: { runs: 0 } }, name);
    t.equal(data.updatedAt, second.createdAt);
    t.notOk('versions' in data);
  }
});

t.test('GET refuses what is no version, a version given twice and what is not there', async (t) => {
  const { server, callAs, call, create } = await start();
  const { id, slug } = await create();
  for (const version of ['0', '-1', '1.5', 'x', '']) {
    refused(t, await call('GET', `/presets/${id}@${version}`), 400, 'invalid_param', 'slug', version);
    refused(t, await call('GET', `/presets/${id}?version=${version}`), 400, 'invalid_param', 'slug', version);
  }
  refused(t, await call('GET', `/presets/${id}@1?version=1`), 400, 'invalid_param', 'version');
  const missing = [`${id}@2`, `${slug}?version=2`, 'pre_unknown', 'unknown', `${id}@99999999999999999999`];
  for (const name of [...missing, `${BUILT_IN}@2`]) {
    refused(t, await call('GET', `/presets/${name}`), 404, 'preset_not_found', 'slug', name);
  }
  const stranger = callAs((await server.account()).key);
  for (const name of [id, slug, `${id}@1`]) {
    refused(t, await stranger('GET', `/presets/${name}`), 404, 'preset_not_found', 'slug', name);
  }
});

t.test('PUT merges; only other steps or subjects are a new version', async (t) => {
  const { call, create } = await start();
  const { id, slug } = await create({ description: 'old' });
  const put = async (body: object) => (await call('PUT', `/presets/${id}`, body)).json.data;
  const created = (await call('GET', `/presets/${id}`)).json.data;
  const renamed = await put({ name: 'Renamed' });
  t.match(renamed, { name: 'Renamed', slug, description: 'old', version: 1, versionCount: 1, warnings: [] });
  t.ok(renamed.updatedAt > created.updatedAt);
  t.notOk('usage' in renamed);
  const same = await put({ name: 'Renamed', steps: numbered(100), subjects: [] });
  t.same([same.version, same.updatedAt], [1, renamed.updatedAt], 'identical steps change nothing');
  t.match(await put({ description: '' }), { description: '', version: 1 });
  const second = await put({ steps: numbered(200), slug: 'moved' });
  t.match(second, { slug: 'moved', version: 2, versionCount: 2 });
  t.equal(
    second.versions[0].updatedAt,
    created.createdAt,
    'a version was saved when it was made, not renamed',
  );
  t.match(await put({}), { version: 2, updatedAt: second.updatedAt });
  refused(t, await call('GET', `/presets/${slug}`), 404, 'preset_not_found', 'slug');
  t.equal((await call('GET', '/presets/moved@1')).json.data.steps[0].parameters.width, 100);
});

t.test('PUT refuses a path that names a version, built-ins and what is not there', async (t) => {
  const { call, create } = await start();
  const { id } = await create();
  await create({ slug: 'taken' });
  for (const name of [`${id}@1`, `${id}@x`, `${BUILT_IN}@1`]) {
    refused(t, await call('PUT', `/presets/${name}`, { name: 'New' }), 400, 'invalid_param', 'slug', name);
  }
  refused(t, await call('PUT', `/presets/${BUILT_IN}`, { name: 'Mine' }), 403, 'forbidden', 'slug');
  refused(t, await call('PUT', '/presets/unknown', { name: 'New' }), 404, 'preset_not_found', 'slug');
  const rows: Array<[param: string, body: object]> = [
    ['name', { name: ' ' }],
    ['name', { name: 5 }],
    ['steps', { steps: [] }],
    ['steps[0].op', { steps: [{ op: 'zoom' }] }],
    ['steps[0].parameters.width', { steps: numbered(0) }],
    ['subjects', { subjects: [{ name: 'Bad Name', referenceAssetIds: ['ast_1'] }] }],
    ['slug', { slug: 'Not A Slug' }],
    ['slug', { slug: 'builtin-mine' }],
    ['slug', { slug: 'taken' }],
  ];
  for (const [param, body] of rows) {
    const answer = await call('PUT', `/presets/${id}`, body);
    refused(t, answer, 400, 'invalid_param', param, JSON.stringify(body));
  }
  t.match((await call('GET', `/presets/${id}`)).json.data, { ...preset, version: 1 });
});

t.test('a version that was deleted is gone, its number too, and the others stay', async (t) => {
  const { call, create } = await start();
  const { id, slug } = await create();
  for (const width of [200, 300]) await call('PUT', `/presets/${id}`, { steps: numbered(width) });
  const gone = await call('DELETE', `/presets/${slug}/versions/2`);
  t.same([gone.status, gone.bytes.length], [204, 0]);
  refused(t, await call('GET', `/presets/${slug}@2`), 404, 'preset_not_found', 'slug');
  const { data } = (await call('GET', `/presets/${slug}`)).json;
  t.match(data, { version: 3, versionCount: 2, steps: numbered(300), versions: [{ version: 1 }] });
  t.equal((await call('PUT', `/presets/${id}`, { steps: numbered(400) })).json.data.version, 4);

  for (const version of ['4', '0', '-1', 'x', '1.5']) {
    const answer = await call('DELETE', `/presets/${slug}/versions/${version}`);
    refused(t, answer, 400, 'invalid_param', 'version', version);
  }
  const carrying = await call('DELETE', `/presets/${slug}@1/versions/1`);
  refused(t, carrying, 400, 'invalid_param', 'slug');
  refused(t, await call('DELETE', `/presets/${BUILT_IN}/versions/1`), 403, 'forbidden', 'slug');
  refused(t, await call('DELETE', '/presets/unknown/versions/1'), 404, 'preset_not_found', 'slug');
  for (const version of [2, 9]) {
    const answer = await call('DELETE', `/presets/${slug}/versions/${version}`);
    refused(t, answer, 404, 'preset_not_found', 'version');
  }
});

t.test('DELETE removes every version, and only its own preset', async (t) => {
  const { server, callAs, call, create } = await start();
  const { id, slug } = await create();
  await call('PUT', `/presets/${id}`, { steps: numbered(200) });
  refused(t, await call('DELETE', `/presets/${slug}@1`), 400, 'invalid_param', 'slug');
  refused(t, await call('DELETE', `/presets/${BUILT_IN}`), 403, 'forbidden', 'slug');
  refused(t, await call('DELETE', '/presets/unknown'), 404, 'preset_not_found', 'slug');
  const stranger = callAs((await server.account()).key);
  refused(t, await stranger('DELETE', `/presets/${id}`), 404, 'preset_not_found', 'slug');
  const answer = await call('DELETE', `/presets/${slug}`);
  t.same([answer.status, answer.bytes.length], [204, 0]);
  for (const name of [id, slug, `${slug}@1`, `${slug}@2`]) {
    refused(t, await call('GET', `/presets/${name}`), 404, 'preset_not_found', 'slug', name);
  }
});

t.test('the list has the built-ins first, then the latest update, unpaged and without meta', async (t) => {
  const { call, create } = await start();
  const made: Array<{ id: string }> = [];
  for (let number = 0; number < 20; number++) made.push(await create({ name: `P${number}` }));
  await call('PUT', `/presets/${made[3]?.id}`, { steps: numbered(200) });
  const ids = (answer: Answer) => answer.json.data.map(({ id }: { id: string }) => id);
  const own = [made[3], ...made.filter((_, index) => index !== 3).reverse()].map((one) => one?.id);
  const builtIns = BUILT_IN_PRESETS.map(({ _id }) => _id);

  const whole = await call('GET', '/presets');
  t.equal(whole.json.success, true);
  t.notOk('meta' in whole.json);
  t.same(ids(whole), [...builtIns, ...own]);
  t.same(ids(await call('GET', '/presets?filter=builtin')), builtIns);
  t.same(ids(await call('GET', '/presets?filter=user')), own);
  t.match(whole.json.data[builtIns.length], { version: 2, versionCount: 2, usage: { runs: 0 } });
  t.notOk(whole.json.data.some((row: object) => 'versions' in row || 'warnings' in row));

  const rows = (await call('GET', '/presets?includeVersions=true')).json.data;
  t.match(rows[builtIns.length].versions, [{ version: 1, steps: numbered(100) }]);
  t.ok(
    rows.every(
      (row: { versions: unknown[]; versionCount: number }) => row.versions.length === row.versionCount - 1,
    ),
  );
  refused(t, await call('GET', '/presets?filter=mine'), 400, 'invalid_param', 'filter');
  refused(t, await call('GET', '/presets?includeVersions=x'), 400, 'invalid_param', 'includeVersions');
});

t.test('a built-in is read like any other', async (t) => {
  const { call } = await start();
  const whole = (await call('GET', `/presets/${BUILT_IN}`)).json.data;
  t.match(whole, { id: BUILT_IN, slug: BUILT_IN, builtIn: true, version: 1, versionCount: 1, versions: [] });
  t.same((await call('GET', `/presets/${BUILT_IN}@1`)).json.data, whole);
});

t.test('a repeated write under one Idempotency-Key is one write', async (t) => {
  const { call } = await start();
  const headers = { 'idempotency-key': 'create-1' };
  const first = await call('POST', '/presets', preset, headers);
  const again = await call('POST', '/presets', preset, headers);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.same(again.bytes, first.bytes);
  t.equal((await call('GET', '/presets?filter=user')).json.data.length, 1);
});

t.test('no call is answered without a credential', async (t) => {
  const { server } = await start();
  for (const [method, path] of [
    ['GET', '/presets'],
    ['GET', `/presets/${BUILT_IN}`],
    ['DELETE', '/presets/x'],
    ['DELETE', '/presets/x/versions/1'],
  ] as const) {
    refused(t, await server.call(path, { method }), 401, 'unauthorized', 'Authorization');
  }
});

t.test(
  'parameters as deep as a body may be are compared, and the same ones are no new version',
  async (t) => {
    const { call, create } = await start();
    const stepsWith = (innermost: unknown) => {
      let hint = innermost;
      for (let level = 0; level < 190; level++) hint = [hint];
      return [{ op: 'upscale', parameters: { hint } }];
    };
    const { slug } = await create({ steps: stepsWith({ a: 1, b: null }) });
    const put = (steps: unknown) => call('PUT', `/presets/${slug}`, { steps });
    const same = await put(stepsWith({ b: null, a: 1 }));
    t.match(same, { status: 200, json: { data: { version: 1 } } }, 'the order of keys says nothing');
    t.match(await put(stepsWith({ a: 1, b: 0 })), { status: 200, json: { data: { version: 2 } } });
  },
);
