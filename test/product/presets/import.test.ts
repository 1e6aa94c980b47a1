// needs: server
import t from 'tap';
import { readModels } from '../../../src/product/models/models.ts';
import { parsePresetEntries } from '../../../src/product/presets/importing.ts';
import { numbered, preset, refused, start } from './harness.ts';

const at = (day: number) => new Date(Date.UTC(2025, 0, day)).toISOString();
const version = (number: number) => ({
  version: number,
  steps: numbered(number),
  subjects: [],
  updatedAt: at(number),
});
const withHistory = { ...preset, version: 9, versions: [version(2), version(5)] };

t.test('what is exported and deleted comes back in another account, numbers and all', async (t) => {
  const { server, call, callAs, create } = await start();
  const { id, slug } = await create({ description: 'kept' });
  for (const width of [200, 300, 400]) await call('PUT', `/presets/${id}`, { steps: numbered(width) });
  await call('DELETE', `/presets/${id}/versions/2`);
  const exported = (await call('GET', `/presets/${slug}`)).json.data;
  await call('DELETE', `/presets/${slug}`);

  const other = callAs((await server.account()).key);
  const { status, json } = await other('POST', '/presets/import', [exported]);
  t.equal(status, 201);
  t.equal(json.data.importedCount, 1);
  t.notOk('errors' in json.data);
  const imported = (await other('GET', `/presets/${slug}`)).json.data;
  for (const field of [
    'name',
    'slug',
    'description',
    'steps',
    'subjects',
    'version',
    'versions',
    'versionCount',
  ]) {
    t.same(imported[field], exported[field], field);
  }
  t.not(imported.id, exported.id);
  t.match((await other('GET', `/presets/${slug}@3`)).json.data, { version: 3, steps: numbered(300) });
  refused(t, await other('GET', `/presets/${slug}@2`), 404, 'preset_not_found', 'slug');
  t.equal((await other('PUT', `/presets/${slug}`, { steps: numbered(500) })).json.data.version, 5);
});

t.test('a list with versions is an export too', async (t) => {
  const { call, callAs, server, create } = await start();
  const { id } = await create();
  await create({ name: 'Other' });
  await call('PUT', `/presets/${id}`, { steps: numbered(200) });
  const rows = (await call('GET', '/presets?filter=user&includeVersions=true')).json.data;
  const other = callAs((await server.account()).key);
  const { data } = (await other('POST', '/presets/import', rows)).json.data;
  t.match(data, [
    { slug: 'small', version: 2, versions: [{ version: 1 }], warnings: [] },
    { slug: 'other', version: 1, versions: [] },
  ]);
});

t.test('a slug that is in use gets a suffix, within one import as well', async (t) => {
  const { call, create } = await start();
  await create();
  const long = 'x'.repeat(100);
  const slugs = [undefined, 'small', 'mine', 'mine', long, long];
  const sent = slugs.map((slug) => ({ ...preset, ...(slug && { slug }) }));
  const { data } = (await call('POST', '/presets/import', sent)).json.data;
  const made = data.map(({ slug }: { slug: string }) => slug);
  t.same(made, ['small-2', 'small-3', 'mine', 'mine-2', long, `${'x'.repeat(95)}-2`]);
});

t.test('a slug that cannot be had is ignored, so that an export of a built-in lands', async (t) => {
  const { call } = await start();
  const slugs = ['Bad Slug', '', 'builtin-mine', 7, null, {}, 'x'.repeat(1_001)];
  const sent = slugs.map((slug) => ({ ...preset, slug }));
  const builtIn = (await call('GET', '/presets/builtin-avatar')).json.data;
  const { data, errors } = (await call('POST', '/presets/import', [...sent, builtIn])).json.data;
  t.same(errors, undefined);
  const made = data.map(({ slug }: { slug: string }) => slug);
  t.same(made, ['small', ...[2, 3, 4, 5, 6, 7].map((number) => `small-${number}`), 'avatar']);
  t.match(data.at(-1), { builtIn: false, steps: builtIn.steps });
});

t.test('an import of more than an account can hold is refused, and one without end unread', async (t) => {
  const { call } = await start();
  const over = await call('POST', '/presets/import', Array(1_001).fill(preset));
  refused(t, over, 422, 'resource_limit_exceeded');
  t.same(over.json.error.details, { limit: 1_000, left: 1_000 });
  const endless = await call('POST', '/presets/import', Array(500_000).fill(0));
  refused(t, endless, 422, 'resource_limit_exceeded');
  t.same(endless.json.error.details, { limit: 10_000, received: 500_000 });
  t.same((await call('GET', '/presets?filter=user')).json.data, [], 'nothing was imported');
});

t.test(
  'an import asks for the assets of all its entries at once, and lets others in meanwhile',
  async (t) => {
    const trips: string[][] = [];
    let turns = 0;
    const rules = {
      models: readModels(),
      findMissingAssets: async (_: string, ids: readonly string[]) => {
        trips.push([...ids]);
        return ids.filter((id) => id === 'ast_3');
      },
      answerSchemas: { check: async () => {} },
    };
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const entries = Array.from({ length: 1_000 }, (_, index) => ({
      ...preset,
      steps: [{ op: 'overlay', parameters: { layerAssetId: `ast_${index % 5}` } }],
    }));
    const { drafts, errors } = await parsePresetEntries(entries, 'acc_a', rules, new Date());
    isOver = true;
    t.same([drafts.length, errors.length], [800, 200]);
    t.same(trips, [['ast_0', 'ast_1', 'ast_2', 'ast_3', 'ast_4']]);
    t.ok(turns >= 2 * entries.length, `others have a turn between two entries, each time: ${turns}`);
  },
);

t.test('entries that fail are told by index and reason, and the rest land in order', async (t) => {
  const { call } = await start();
  const history = (...versions: unknown[]) => ({ ...preset, version: 60, versions });
  const refusedEntries: Array<[entry: unknown, reason: RegExp]> = [
    [null, /entry/],
    [{ ...preset, name: ' ' }, /name/],
    [{ ...preset, steps: [{ op: 'zoom' }] }, /steps\[0\]\.op/],
    [{ ...preset, version: 0 }, /version/],
    [{ ...preset, subjects: [{ name: 'a', referenceAssetIds: ['ast_1'] }] }, /subjects/],
    [history(...Array.from({ length: 50 }, (_, index) => version(index + 1))), /versions.*at most 50/],
    [history(version(2), version(2)), /versions.*rise/],
    [history(version(3), version(2)), /versions.*rise/],
    [{ ...preset, version: 3, versions: [version(3)] }, /versions.*rise/],
    [{ ...preset, versions: [version(1)] }, /versions.*rise/],
    [history({ ...version(1), version: 0 }), /versions\[0\]\.version/],
    [
      history(version(1), { ...version(2), steps: numbered(0) }),
      /versions\[1\]\.steps\[0\]\.parameters\.width/,
    ],
    [history({ ...version(1), updatedAt: 'yesterday' }), /versions\[0\]\.updatedAt/],
    [history({ ...version(1), updatedAt: 'March 3' }), /versions\[0\]\.updatedAt/],
    [history({ ...version(1), updatedAt: '2025-02-30T12:00:00Z' }), /versions\[0\]\.updatedAt/],
    [
      history({ ...version(1), updatedAt: '2025-01-31T12:00:00' }),
      /versions\[0\]\.updatedAt: .* must be an instant with its zone/,
    ],
  ];
  const sent = [preset, ...refusedEntries.map(([entry]) => entry), withHistory];
  const { status, json } = await call('POST', '/presets/import', sent);
  t.equal(status, 201);
  const { data, errors, importedCount } = json.data;
  t.match(data, [
    { slug: 'small', version: 1 },
    { slug: 'small-2', version: 9, versionCount: 3 },
  ]);
  t.equal(importedCount, 2);
  t.equal(errors.length, refusedEntries.length);
  for (const [index, [, reason]] of refusedEntries.entries()) {
    t.match(errors[index], new RegExp(`^\\[${index + 1}\\] ${reason.source}`));
  }
});

t.test('fifty versions with the current one are taken, with the instants they carry', async (t) => {
  const { call } = await start();
  const versions = Array.from({ length: 49 }, (_, index) => version(index + 1));
  await call('POST', '/presets/import', [{ ...preset, version: 50, versions }]);
  const { data } = (await call('GET', '/presets/small')).json;
  t.equal(data.versionCount, 50);
  t.same(data.versions, versions);
  const put = await call('PUT', '/presets/small', { steps: numbered(999) });
  refused(t, put, 422, 'resource_limit_exceeded', 'steps');
});
