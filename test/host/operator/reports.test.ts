// needs: nothing
import { appendFileSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { BenchReports } from '../../../src/host/operator/reports.ts';

const SCRIPT = 'x<img src=x onerror=alert(1)>-2026-01-03T00-00-00.json';

/** A folder of reports, and a secret beside it. */
function folder() {
  const root = t.testdir({ 'secret.json': '{"suite":"secret"}', results: { nested: {} } });
  const results = join(root, 'results');
  const write = (name: string, report: object) =>
    writeFileSync(join(results, name), `${JSON.stringify(report, null, 2)}\n`);
  const host = { cores: 2, node: 'v24', commit: 'abc12345' };
  write('smoke-2026-01-01T00-00-00.json', {
    kind: 'load',
    suite: 'smoke',
    description: 'A "short" load.',
    command: 'npm run bench -- smoke',
    at: '2026-01-01T00:00:00.000Z',
    host,
    stages: [{ name: 'small', cases: {} }],
  });
  write('smoke-against-2026-01-02T00-00-00.json', {
    kind: 'comparison',
    suite: 'smoke-against',
    at: '2026-01-02T00:00:00.000Z',
    host: { ...host, commit: null },
    command: 'npm run bench -- smoke --against main',
    conclusion: '0 of 31 rows worse.',
    rows: [],
  });
  write(SCRIPT, { suite: '<script>alert(1)</script>', at: 'no time', rows: [{ attack: 'x', p99: 1 }] });
  write('tune-2026-01-04T00-00-00.json', {
    ...{ suite: 'tune', at: '2026-01-04T00:00:00.000Z', command: 'npm run tune -- --minutes 30' },
    trials: [],
  });
  write('package.json', { name: 'no report' });
  writeFileSync(join(results, 'broken.json'), 'not JSON\n  "suite": "broken');
  writeFileSync(join(results, 'smoke-2026-01-01T00-00-00.html'), '<p>a page</p>');
  symlinkSync(join(root, 'secret.json'), join(results, 'link.json'));
  symlinkSync(root, join(results, 'up.json'));
  mkdirSync(join(results, 'folder.json'));
  utimesSync(join(results, SCRIPT), new Date(0), new Date('2026-01-03T00:00:00Z'));
  return { root, results };
}

t.test('the reports of a folder are told by their heads, the newest first', async (t) => {
  const reports = new BenchReports(folder().results);
  const { runs, total } = await reports.list({});
  t.equal(total, 4);
  t.match(runs, [
    { suite: 'tune', kind: 'tune', command: 'npm run tune -- --minutes 30' },
    { name: SCRIPT, suite: '<script>alert(1)</script>', kind: 'table', at: '2026-01-03T00:00:00.000Z' },
    { suite: 'smoke-against', kind: 'comparison', commit: null, headline: '0 of 31 rows worse.' },
    { suite: 'smoke', kind: 'load', commit: 'abc12345', headline: 'A "short" load.' },
  ]);
  const names = async (query: Parameters<BenchReports['list']>[0]) =>
    (await reports.list(query)).runs.map(({ suite }) => suite);
  t.same(await names({ kind: 'load' }), ['smoke']);
  t.same(await names({ search: 'AGAINST MAIN' }), ['smoke-against']);
  t.same(await names({ search: 'abc123' }), ['smoke']);
  t.same(await names({ suite: 'nothing' }), []);
  t.same(await new BenchReports(join(folder().root, 'absent')).list({}), { runs: [], total: 0 });
});

t.test('of a report that is being written, no more is sent than was announced', async (t) => {
  const { results } = folder();
  const reports = new BenchReports(results);
  const path = join(results, 'growing.json');
  writeFileSync(path, '');
  await t.rejects(reports.read('growing.json'), { code: 'not_found' }, 'nothing is no report');
  writeFileSync(path, '{"suite":"growing"}');
  const { bytes, stream } = await reports.read('growing.json');
  appendFileSync(path, '{"suite":"growing"}');
  t.equal(Buffer.byteLength(await text(stream)), bytes);
});

t.test('no name leads out of the folder', async (t) => {
  const reports = new BenchReports(folder().results);
  const { bytes, stream } = await reports.read('smoke-2026-01-01T00-00-00.json');
  const read = await text(stream);
  t.equal(Buffer.byteLength(read), bytes);
  t.equal(JSON.parse(read).suite, 'smoke');
  for (const name of [
    ...['../secret.json', '..%2fsecret.json', '/etc/passwd', 'nested/../../secret.json', '..', '.', ''],
    ...['link.json', 'up.json', 'folder.json', 'smoke-2026-01-01T00-00-00.html', 'absent.json'],
    ...['smoke-2026-01-01T00-00-00.json\0', `${'a'.repeat(5_000)}.json`, '..\\secret.json'],
  ])
    await t.rejects(
      reports.read(name),
      { code: 'not_found', param: 'name' },
      JSON.stringify(name.slice(0, 60)),
    );
});
