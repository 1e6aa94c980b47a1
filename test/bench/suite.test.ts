// needs: nothing
import { globSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openApi } from '../../bench/api.ts';
import { findMistakes, importSuite, withOverrides } from '../../bench/load/checked-suite.ts';
import { type InstanceFacts, inspectInstance, remarksOn } from '../../bench/load/instance.ts';
import { cameraFiles } from '../../bench/load/pictures.ts';
import type { LoadSuite } from '../../bench/load/suite.ts';
import { readBenchOptions } from '../../bench/options.ts';
import { BASELINE_SUITES, checkOptions, LOAD_SUITES, mainHelp, readHelp } from '../../bench/registry.ts';
import { writeResult } from '../../bench/results.ts';
import { serve } from '../support/loopback.ts';

const loadCase = {
  description: 'A call.',
  prepare: async () => () => ({ method: 'GET' as const, path: '/' }),
};
const suite: LoadSuite = {
  name: 'proof',
  description: 'A suite of a test.',
  cases: { web: loadCase, cards: loadCase },
  stages: [
    { name: 'warm up', seconds: 5, loop: 'closed', isWarmUp: true, connections: { web: 2 } },
    { name: 'closed', seconds: 8, loop: 'closed', connections: { web: 4 } },
    { name: 'open', seconds: 8, loop: 'open', perSecond: { web: 6, cards: 2 } },
    { name: 'overload', seconds: 8, loop: 'open', perSecond: { web: { times: 3, stage: 'closed' } } },
  ],
  thresholds: [
    { stage: 'closed', case: 'web', measure: 'p99', atMost: 100 },
    { stage: 'overload', case: 'web', measure: 'perSecond', atLeast: { times: 0.8, stage: 'closed' } },
  ],
};
const [warmUp, closed, open, overload] = suite.stages;
const [threshold] = suite.thresholds ?? [];

t.test('every suite of the project is without a mistake', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-suites-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  process.env.BENCH_REPLAY_LOG = join(folder, 'access.log');
  await writeFile(process.env.BENCH_REPLAY_LOG, '2026-01-01T00:00:00Z GET /unsafe/300x200/a.jpg\n');
  const files = globSync('bench/suites/*.ts', { cwd: join(import.meta.dirname, '../..') });
  const suites = files.filter((file) => !file.endsWith('calls.ts'));
  t.ok(suites.length >= 7);
  for (const file of suites) t.ok((await importSuite(join(import.meta.dirname, '../..', file))).name, file);
});

t.test('a mistake of a suite is a sentence with its place and the nearest name', async (t) => {
  t.same(findMistakes(suite), []);
  const changed = (change: object) => findMistakes({ ...suite, ...change });
  const wrong: Array<[mistake: object, sentence: RegExp]> = [
    [
      { thresholds: [{ ...threshold, measure: 'p98' }] },
      /thresholds\[0\]\.measure is "p98".*Did you mean p9\d\?/,
    ],
    [{ thresholds: [{ ...threshold, measure: 'errorshare' }] }, /Did you mean errorShare\?/],
    [
      { thresholds: [{ ...threshold, atmost: 1 }] },
      /^Did you mean atMost\? thresholds\[0\]\.atmost is not a field/,
    ],
    [{ thresholds: [{ ...threshold, atMost: undefined }] }, /neither atMost nor atLeast/],
    [{ thresholds: [{ ...threshold, atMost: '5' }] }, /thresholds\[0\]\.atMost is "5", but a number/],
    [
      { thresholds: [{ ...threshold, stage: 'closd' }] },
      /thresholds\[0\]\.stage is "closd".*Did you mean closed\?/,
    ],
    [{ thresholds: [{ ...threshold, stage: 'warm up' }] }, /thresholds\[0\]\.stage is "warm up"/],
    [{ thresholds: [{ ...threshold, case: 'cards' }] }, /thresholds\[0\]\.case is "cards"/],
    [{ stages: [{ ...closed, loop: 'clsoed' }] }, /stages\[0\]\.loop is "clsoed".*Did you mean closed\?/],
    [{ stages: [{ ...closed, seconds: 0 }] }, /stages\[0\]\.seconds is 0/],
    [{ stages: [{ ...closed, conections: {} }] }, /^Did you mean connections\? stages\[0\]\.conections/],
    [{ stages: [{ ...closed, connections: { wbe: 1 } }], thresholds: [] }, /is "wbe".*Did you mean web\?/],
    [{ stages: [{ ...open, perSecond: { web: 'fast' } }] }, /stages\[0\]\.perSecond\.web is "fast"/],
    [{ stages: [overload, closed], thresholds: [] }, /stages\[0\]\.perSecond\.web\.stage is "closed"/],
    [{ stages: [closed, closed] }, /stages\[1\]\.name is "closed", which an earlier stage has too/],
    [{ cases: { ...suite.cases, cards: { description: 'x' } } }, /cases\.cards has no function prepare/],
    [{ stages: [] }, /stages is \[\]/],
    [{ name: undefined }, /name is missing/],
  ];
  for (const [change, sentence] of wrong) {
    const sentences = changed(change);
    t.ok(
      sentences.some((one) => sentence.test(one)),
      `${sentence}: ${sentences.join(' | ')}`,
    );
  }
  t.ok(findMistakes(undefined).length > 0);
});

t.test('a module that is no suite is refused with all of its mistakes', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-suite-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'own.ts');
  await writeFile(file, 'export default { name: "own", cases: {}, stages: [] };');
  await t.rejects(
    importSuite(file),
    /own\.ts is not a suite:\ndescription is missing.*\ncases is empty\.\nstages is \[\]/,
  );
});

t.test('seconds, rate and connections change every stage but the warm-up', async (t) => {
  const none = { seconds: null, rate: null, connections: null };
  t.same(withOverrides(suite, none).stages, suite.stages);
  const { stages } = withOverrides(suite, { seconds: 2, rate: 16, connections: 1 });
  t.same(stages[0], warmUp);
  t.match(stages[1], { seconds: 2, connections: { web: 1 } });
  t.match(stages[2], { seconds: 2, perSecond: { web: 12, cards: 4 } }, 'the shares stay');
  t.match(stages[3], { seconds: 2, perSecond: { web: { times: 3, stage: 'closed' } } });
  const only = (...few: typeof suite.stages) => ({ ...suite, stages: few });
  if (closed === undefined || open === undefined) throw new Error('The suite of the test has four stages.');
  t.throws(() => withOverrides(only(closed), { ...none, rate: 5 }), /--rate/);
  t.throws(() => withOverrides(only(open), { ...none, connections: 5 }), /--connections/);
});

t.test('a shell takes the command that repeats a run as it was given, but for the key', async (t) => {
  const { command } = readBenchOptions(['capacity', 'page', '--slo', "p99<1s,it's", '--key', 'drk_secret']);
  t.equal(command, String.raw`npm run bench -- capacity page --slo 'p99<1s,it'\''s' --key …`);
  t.equal(readBenchOptions(['smoke', '--key=drk_secret']).command, 'npm run bench -- smoke --key=…');
});

t.test('keys come from a file, the command line or the environment', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-keys-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'keys');
  await writeFile(file, '# two accounts\ndrk_one\n\n  drk_two\n');
  t.same(readBenchOptions(['smoke', '--keys', file]).keys, ['drk_one', 'drk_two']);
  t.same(readBenchOptions(['smoke']).keys, []);
  process.env.DARKROOM_KEY = 'drk_environment';
  t.teardown(() => delete process.env.DARKROOM_KEY);
  t.same(readBenchOptions(['smoke']).keys, ['drk_environment']);
  t.same(readBenchOptions(['smoke', '--key', 'drk_line']).keys, ['drk_line']);
  await writeFile(file, '\n');
  t.throws(() => readBenchOptions(['smoke', '--keys', file]), /holds no key/);
  t.same(readBenchOptions(['--seconds', '1.5', '--rate', '20', '--connections', '4']).overrides, {
    seconds: 1.5,
    rate: 20,
    connections: 4,
  });
  for (const wrong of ['0', '-1', 'many']) t.throws(() => readBenchOptions([`--rate=${wrong}`]), /--rate is/);
  t.throws(() => readBenchOptions(['--connections', '1.5']), /a whole number above 0/);
});

t.test(
  'each command and suite has a help of its own, and a name that is none gets the nearest one',
  async (t) => {
    const suites = [...Object.keys(LOAD_SUITES), ...Object.keys(BASELINE_SUITES)];
    for (const name of ['capacity', 'replay', 'compare', 'peers', '--suite', ...suites]) {
      t.match(await readHelp(name), `npm run bench -- ${name}`);
      t.match(mainHelp(), name, 'the main help lists it');
    }
    t.match(await readHelp('capacity'), /--slo/);
    t.match(await readHelp('replay'), /--speed N/);
    t.notMatch(await readHelp('compare'), /--url/);
    await t.rejects(
      readHelp('smoek'),
      /There is no suite smoek\. Did you mean smoke\? There are: capacity, replay, /,
    );
    await t.rejects(readHelp('capcity'), /Did you mean capacity\?/);
  },
);

t.test('an option that a command or a suite does not have is refused before anything runs', async (t) => {
  const check = (...argv: string[]) => {
    const { names, given } = readBenchOptions(argv);
    checkOptions(names, given);
  };
  t.throws(
    () => check('capacity', 'page-webp', '--against=main'),
    /^capacity has no option --against: it takes --slo, /,
  );
  t.throws(() => check('smoke', '--slo', 'p99<1s'), /smoke has no option --slo/);
  t.throws(
    () => check('smoke', 'transform', '--url', 'http://x'),
    /transform has no option --url: it takes --formats, --out\.$/,
  );
  t.throws(() => check('smoke', 'smoek'), /Did you mean smoke\?/);
  for (const right of [
    ['smoke', '--rate', '5', '--out', 'x'],
    ['compare', 'a.json', 'b.json', '--fail-over', '5%'],
  ])
    t.doesNotThrow(() => check(...right));
});

t.test('a result never replaces another one', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-results-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const written = new Set<string>();
  for (let turn = 0; turn < 5; turn += 1)
    written.add(await writeResult('proof', { result: { turn }, html: `<p>${turn}`, folder }));
  t.equal(written.size, 5);
  t.equal((await readdir(folder)).length, 10, 'five of JSON, five pages');
});

t.test('an instance is named before it is loaded, with what its limits do not allow', async (t) => {
  const facts: InstanceFacts = {
    version: '9.9.9',
    accounts: 1,
    limits: { requestsPerMinute: 300, syncConcurrency: 2 },
  };
  const said = remarksOn(facts, suite);
  t.equal(said[0], 'Darkroom 9.9.9, one account.');
  t.ok(said.some((one) => /stage closed keeps 4 calls in flight, but its accounts may have 2/.test(one)));
  t.ok(said.some((one) => /stage open sends 8 calls\/s, but its accounts may send 5\b/.test(one)));
  t.notOk(
    said.some((one) => /stage warm up/.test(one)),
    'two connections are allowed',
  );
  const many = remarksOn({ ...facts, accounts: 2 }, suite);
  t.notOk(
    many.some((one) => /stage (closed|open)/.test(one)),
    'two accounts have twice the limits',
  );
  t.match(remarksOn({ version: null, accounts: 1, limits: null }, suite), [/does not answer as a Darkroom/]);
});

t.test('the page of another server is not printed where a suite cannot be prepared', async (t) => {
  const { url } = await serve(t, (_request, response) => {
    response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' });
    response.end('<h1>not found</h1>');
  });
  const upload = openApi({ url, key: 'k' }).post('/assets/upload', {});
  await t.rejects(upload, {
    message: 'POST /assets/upload was answered with 404: text/html; charset=utf-8, so it is not a Darkroom',
  });
});

t.test("the files of a camera are the user's own where there are some", async (t) => {
  const picture = (name: string, megabytes: number) => ({
    ...{ name, type: 'image/jpeg', bytes: Buffer.alloc(megabytes * 1e6) },
  });
  const own = await cameraFiles([picture('small', 1), picture('camera', 4), picture('huge', 9)]);
  t.same(
    own.map(({ name }) => name),
    ['camera'],
  );
});

t.test('an instance answers for its version and for each key', async (t) => {
  const { url } = await serve(t, (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/openapi.json')
      return response.end('{"info":{"title":"Darkroom","version":"9.9.9"}}');
    const key = request.headers.authorization ?? '';
    if (key.endsWith('wrong')) response.writeHead(401);
    const limits = { requestsPerMinute: 300, syncConcurrency: 2 };
    response.end(JSON.stringify({ data: { id: key.endsWith('b') ? 'second' : 'first', limits } }));
  });
  const facts = await inspectInstance(url, ['a', 'also-a', 'b']);
  t.match(facts, { version: '9.9.9', accounts: 2, limits: { requestsPerMinute: 300 } });
  await t.rejects(inspectInstance(url, ['a', 'wrong']), /does not accept key 2 of 2: it answered 401/);
  const other = await serve(t, (_request, response) => response.end('<h1>hello</h1>'));
  t.match(await inspectInstance(other.url, ['a']), { version: null, limits: null });
  await t.rejects(inspectInstance('http://127.0.0.1:9', ['a']), /does not answer/);
});
