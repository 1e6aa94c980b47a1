// needs: server, both stores
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { numbered, preset, refused, start } from './harness.ts';

const statuses = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status);
const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, index) => index + from);

t.test('forty racing PUTs lose no version and give no number twice; sixty more stop at fifty', async (t) => {
  const { call, create } = await start();
  const { id } = await create();
  const put = (width: number) => call('PUT', `/presets/${id}`, { steps: numbered(width) });
  const forty = await Promise.all(numbers(40, 1001).map(put));
  const issued = new Map<number, number>();
  for (const { json } of forty) issued.set(json.data.version, json.data.steps[0].parameters.width);
  t.same(
    [...issued.keys()].sort((a, b) => a - b),
    numbers(40, 2),
  );
  t.same([...issued.values()].sort(), numbers(40, 1001));

  const { data } = (await call('GET', `/presets/${id}`)).json;
  t.match(data, { version: 41, versionCount: 41, steps: numbered(issued.get(41) ?? 0) });
  t.same(
    data.versions.map((row: { version: number; steps: unknown }) => [row.version, row.steps]),
    numbers(40).map((version) => [version, numbered(issued.get(version) ?? 100)]),
  );

  const sixty = await Promise.all(numbers(60, 2001).map(put));
  t.equal(statuses(sixty, 200).length, 9);
  for (const answer of statuses(sixty, 422)) refused(t, answer, 422, 'resource_limit_exceeded', 'steps');
  t.equal(statuses(sixty, 422).length, 51);
  const full = (await call('GET', `/presets/${id}`)).json.data;
  t.match(full, { version: 50, versionCount: 50 });
  t.same(
    full.versions.map(({ version }: { version: number }) => version),
    numbers(49),
  );

  t.equal((await call('PUT', `/presets/${id}`, { name: 'Renamed' })).status, 200, 'a rename is no version');
  t.equal((await call('PUT', `/presets/${id}`, { steps: full.steps })).json.data.version, 50);
  t.equal((await call('DELETE', `/presets/${id}/versions/7`)).status, 204);
  t.match((await put(3000)).json.data, { version: 51, versionCount: 50 });
});

t.test('deletes that race PUTs take off the record what they name, and nothing else', async (t) => {
  const { call, create } = await start();
  const { id } = await create();
  for (const width of numbers(9, 200)) await call('PUT', `/presets/${id}`, { steps: numbered(width) });
  const deletes = numbers(9).map((version) => call('DELETE', `/presets/${id}/versions/${version}`));
  const puts = numbers(9, 300).map((width) => call('PUT', `/presets/${id}`, { steps: numbered(width) }));
  t.equal(statuses(await Promise.all(deletes), 204).length, 9);
  t.equal(statuses(await Promise.all(puts), 200).length, 9);
  const { data } = (await call('GET', `/presets/${id}`)).json;
  t.equal(data.version, 19);
  t.same(
    data.versions.map(({ version }: { version: number }) => version),
    numbers(9, 10),
  );
});

t.test('a thousand presets are a law, alone, in imports and under races', async (t) => {
  const { call } = await start();
  const many = (count: number) => Array.from({ length: count }, () => preset);
  const over = await call('POST', '/presets/import', many(1001));
  refused(t, over, 422, 'resource_limit_exceeded');
  t.same((await call('GET', '/presets?filter=user')).json.data, [], 'nothing was imported');
  const most = await call('POST', '/presets/import', [...many(990), { name: 'refused' }]);
  t.match(most, { status: 201, json: { data: { importedCount: 990 } } });

  const racers = await Promise.all(numbers(30).map(() => call('POST', '/presets', preset)));
  t.equal(statuses(racers, 201).length, 10);
  for (const answer of statuses(racers, 422)) refused(t, answer, 422, 'resource_limit_exceeded');
  refused(t, await call('POST', '/presets/import', [preset]), 422, 'resource_limit_exceeded');

  const list = (await call('GET', '/presets?filter=user')).json.data;
  t.equal(list.length, 1000);
  t.equal(new Set(list.map(({ slug }: { slug: string }) => slug)).size, 1000);
  t.equal((await call('DELETE', `/presets/${list[0].id}`)).status, 204);
  t.equal((await call('POST', '/presets', preset)).status, 201, 'a deleted preset gives its place back');
});
