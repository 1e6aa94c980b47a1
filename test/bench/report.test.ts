// needs: browser
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Page } from 'playwright';
import t, { type Test } from 'tap';
import type { CapacityProbe, CapacityResult } from '../../bench/capacity/command.ts';
import { compareRuns, conclusionOf } from '../../bench/compare/rows.ts';
import type { InstanceSample } from '../../bench/load/watch.ts';
import { hostFacts, type LoadReport, memoryTrend } from '../../bench/report/load-report.ts';
import { plottedPage } from '../../bench/report/pages.ts';
import { findBrowser } from '../../workers/render/executable.ts';
import { stageOf } from './results.ts';

const samples: InstanceSample[] = [0, 1, 2].map((at) => ({
  at,
  processes: [{ pid: 7, name: 'node', cpuShare: 0.5, rssBytes: (100 + at) * 1024 * 1024 }],
  pools: { image: { busy: 1, queued: at, threads: 1 } },
}));

const report: LoadReport = {
  kind: 'load',
  suite: 'proof </script><b>',
  description: 'A report of a test.',
  command: 'npm run bench -- proof',
  at: '2026-01-01T00:00:00.000Z',
  host: hostFacts(),
  url: null,
  instance: { version: '0.1.0', accounts: 1, limits: null },
  settings: {},
  memory: memoryTrend(samples),
  thresholds: [{ stage: 'stage', case: 'calls', measure: 'p50', atMost: 4 }],
  pictures: ['camera.jpg 4000 × 3000, 3.10 MB'],
  brokenThresholds: ['stage, calls: p50 is 12.34, above 4.'],
  stages: [stageOf({ perSecond: 123.45, p50: 12.34 }, 0.1)],
  spans: [{ name: 'stage', from: 0, to: 2 }],
  samples,
  isStopped: false,
};

/** Opens a page in a browser. @returns the page, and what it asked of the network or failed at. */
async function opened(t: Test, html: string): Promise<{ page: Page; problems: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-report-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'report.html');
  await writeFile(file, html);
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', join(tmpdir(), 'darkroom-test-browser'));
  const browser = await chromium.launch({ executablePath: path, chromiumSandbox: false });
  t.teardown(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 360, height: 800 } });
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => request.url().startsWith('file:') || problems.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  const width = await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth);
  t.equal(width, 360, 'a page of 360 px does not scroll sideways');
  return { page, problems };
}

t.test('a page of a report needs no network, and shows the numbers of its JSON', async (t) => {
  const { page, problems } = await opened(t, plottedPage({ title: report.suite, report, script: 'load.js' }));
  t.same(problems, []);
  const text = await page.innerText('main');
  for (const shown of ['123.45', '12.34', '100 MB', '102 MB', report.command, report.brokenThresholds[0]])
    t.ok(text.includes(String(shown)), `${shown} is on the page`);
  t.ok(text.includes(report.suite), 'text of a report is never markup');
  t.equal(
    await page.innerText('.verdict'),
    '1 of 1 thresholds broken. 1000 of 1000 calls were answered right.',
  );
  const columns = await page.locator('.scroll').first().locator('th').allInnerTexts();
  t.same(columns.slice(0, 6), ['case', 'right/s', 'p50', 'p95', 'p99', 'errors'], 'what matters comes first');
  t.equal(
    await page.locator('.uplot').count(),
    6,
    'three plots of the stage, two of processes, one of the pool',
  );
});

t.test('the page of a comparison draws each interval', async (t) => {
  const stages = [stageOf({ perSecond: 123.45, p50: 12.34 }, 0.1)];
  const rows = compareRuns(stages, [stageOf({ perSecond: 61.7, p50: 24.7 }, 0.1)]);
  const comparison = {
    suite: 'proof',
    at: report.at,
    host: report.host,
    command: 'bench',
    sides: { a: 'main (1234)', b: 'http://x' },
    conclusion: conclusionOf(rows),
    method: 'By rounds.',
    rows,
  };
  const { page, problems } = await opened(
    t,
    plottedPage({ title: 'proof', report: comparison, script: 'comparison.js' }),
  );
  t.same(problems, []);
  const text = await page.innerText('main');
  for (const shown of [rows[0]?.conclusion, 'A is main (1234), B is http://x.']) t.match(text, String(shown));
  t.match(await page.innerText('.verdict'), /^4 of 5 rows worse: stage, calls: p99 .*; and 1 more\.$/);
  t.equal(await page.locator('svg').count(), rows.filter(({ change }) => change !== null).length);
});

t.test('the page of a measured suite has a bar for each ratio', async (t) => {
  const rows = [
    { call: 'resize', 'CPU ms': 41.5, 'ratio of CPU': 1.25 },
    { call: 'crop', 'CPU ms': 12, 'ratio of CPU': 9 },
  ];
  const result = {
    suite: 'proof',
    at: report.at,
    cores: 2,
    node: 'v24',
    method: 'A.',
    rows,
    missed: ['too slow'],
  };
  const { page, problems } = await opened(
    t,
    plottedPage({ title: 'proof', report: result, script: 'table.js' }),
  );
  t.same(problems, []);
  const text = await page.innerText('main');
  for (const shown of ['41.5', '1.25', 'Missed: too slow']) t.ok(text.includes(shown), shown);
  const widths = await page
    .locator('.ratio')
    .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  t.same(widths, [75, 180]);
});

t.test('the page of a capacity draws the curve of each case', async (t) => {
  const probe = {
    ...{ seconds: 10, sentPerSecond: 20.4, perSecond: 20.2, p50: 30 },
    ...{ errorShare: 0, cpuMs: 40, megabytes: 500, isLoaderLimit: false },
  };
  const best: CapacityProbe = { ...probe, rate: 20, p99: 180, holds: true, broken: null };
  const next: CapacityProbe = { ...probe, rate: 21, p99: 420.5, holds: false, broken: 'p99<200ms: 420.5 ms' };
  const result: CapacityResult = {
    case: 'camera',
    description: 'A photograph.',
    best,
    next,
    isCutShort: false,
    isAtLeast: false,
    probes: [best, next],
  };
  const capacity = { at: report.at, objective: 'p99<200ms', url: null, host: report.host, results: [result] };
  const { page, problems } = await opened(
    t,
    plottedPage({ title: 'capacity', report: capacity, script: 'capacity.js' }),
  );
  t.same(problems, []);
  const text = await page.innerText('main');
  t.equal(await page.innerText('.verdict'), 'Right answers: camera 20.2/s.');
  for (const shown of ['20.2/s', '25.0', 'p99<200ms: 420.5 ms']) t.ok(text.includes(shown), shown);
  t.equal(await page.locator('.uplot').count(), 4);
});

t.test(
  'the trend of memory is the slope of the line through the samples of half an hour or more',
  async (t) => {
    t.match(report.memory, {
      firstMegabytes: 100,
      lastMegabytes: 102,
      mostMegabytes: 102,
      megabytesPerHour: null,
    });
    const hours = samples.map((sample) => ({ ...sample, at: sample.at * 3600 }));
    t.match(memoryTrend(hours), { megabytesPerHour: 1 });
    t.equal(memoryTrend([{ at: 0, processes: [], pools: {} }]), null, 'processes elsewhere tell nothing');
  },
);
