import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The name of a report that would run a script where names became HTML. */
export const SCRIPT_NAME = 'a<img src=x onerror=document.title="taken">-2026-01-05T00-00-00.json';
const HOST = {
  ...{ cores: 2, cpu: 'AMD EPYC', memoryMegabytes: 24_106, platform: 'linux x64' },
  ...{ node: 'v24.21.0', darkroom: '0.1.0', sharp: '0.35.5', libvips: '8.18.7' },
};

/** Reports of each kind, as bench and tune write them. */
export function writeRuns(folder: string): void {
  const write = (name: string, report: object) =>
    writeFileSync(join(folder, name), `${JSON.stringify(report, null, 2)}\n`);
  write(
    'smoke-2026-01-01T00-00-00.json',
    load({ commit: '98d45910', at: '2026-01-01T00:00:00.000Z', slower: 1 }),
  );
  write(
    'smoke-2026-01-02T00-00-00.json',
    load({ commit: 'abc12345', at: '2026-01-02T00:00:00.000Z', slower: 1.25 }),
  );
  write('smoke-against-2026-01-03T00-00-00.json', {
    ...{ kind: 'comparison', suite: 'smoke-against', at: '2026-01-03T00:00:00.000Z' },
    host: { ...HOST, commit: 'abc12345' },
    command: 'npm run bench -- smoke --against main',
    sides: { a: 'main', b: 'this tree (abc12345)' },
    conclusion: '1 of 2 rows worse.',
    method: '6 interleaved rounds.',
    rows: [
      {
        ...{ stage: 'small', case: 'small', measure: 'p99', a: 40.1, b: 48.2 },
        change: null,
        conclusion: 'worse',
      },
      {
        ...{ stage: 'small', case: 'small', measure: 'perSecond', a: 300, b: 301 },
        change: null,
        conclusion: 'same',
      },
    ],
  });
  write('capacity-2026-01-04T00-00-00.json', {
    ...{ kind: 'capacity', at: '2026-01-04T00:00:00.000Z', objective: 'p99<1s', url: null },
    command: "npm run bench -- capacity page --slo 'p99<1s'",
    host: { ...HOST, commit: null },
    results: [
      {
        ...{ case: 'page', description: 'A page.', isAtLeast: false },
        best: { rate: 43, perSecond: 42.6, p50: 55, p99: 410, cpuMs: 38.2, megabytes: 812 },
      },
    ],
  });
  write(SCRIPT_NAME, {
    suite: '<img src=x onerror=document.title="taken">',
    at: '2026-01-05T00:00:00.000Z',
    command: '<script>document.title="taken"</script>',
    conclusion: '<b onmouseover=alert(1)>0 of 3</b>',
    host: { cpu: '<img src=x onerror=document.title="taken">' },
    rows: [{ attack: '<img src=x onerror=document.title="taken">', p99: 3 }],
  });
}

/** The report of a load in which every latency is that of the first one, times a factor. */
function load({ commit, at, slower }: { commit: string; at: string; slower: number }): object {
  const figures = (perSecond: number, p50: number) => ({
    ...{ sent: 900, right: 900, wrong: 0, unanswered: 0, perSecond: perSecond / slower, errorShare: 0 },
    latencyMs: {
      ...{ mean: p50, p50, p90: p50 * 1.6, p95: p50 * 1.9, p99: p50 * 3, p999: p50 * 5, max: p50 * 6 },
    },
    curve: [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 1].map((share) => [
      share,
      p50 * slower * (0.6 + 0.8 * share - 0.55 * Math.log10(1.0005 - share)),
    ]),
    errors: {},
    timingMs: {},
  });
  return {
    ...{ kind: 'load', suite: 'smoke', description: 'Every kind of call for a short time.' },
    ...{ command: 'npm run bench -- smoke', at, host: { ...HOST, commit }, url: null },
    instance: { version: '0.1.0', accounts: 8, limits: null },
    settings: slower === 1 ? {} : { IMAGE_THREADS: '2' },
    ...{
      memory: null,
      thresholds: [],
      brokenThresholds: slower === 1 ? [] : ['small, small: p99 is 45, above 40.'],
    },
    pictures: ['camera.jpg 4000 × 3000, 1.76 MB'],
    stages: [
      {
        ...{ name: 'small', loop: 'closed', seconds: 6, slices: {}, timeline: {} },
        cases: { small: figures(300, 12 * slower), page: figures(12, 60 * slower) },
        loader: { cpuShare: 0.1, lagP99Ms: 2, lateShare: 0, limit: null },
        instanceCpuMs: 7_200 * slower,
      },
      {
        ...{ name: 'overload', loop: 'open', seconds: 6, slices: {}, timeline: {} },
        cases: { camera: figures(16, 430 * slower) },
        loader: { cpuShare: 0.1, lagP99Ms: 2, lateShare: 0, limit: null },
        instanceCpuMs: 11_000 * slower,
      },
    ],
    ...{ spans: [], samples: [], isStopped: false },
  };
}
