// needs: nothing
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import t from 'tap';
import { openOtherSide } from '../../bench/compare/commands.ts';
import { holmCorrection, pairedDifference, pValueOf, quantileOf } from '../../bench/compare/interval.ts';
import { compareRounds, compareRuns, conclusionOf, worseThan } from '../../bench/compare/rows.ts';
import { seededRandom } from '../../workers/models/random.ts';
import { caseOf, stageOf } from './results.ts';

t.test('the interval of paired ratios is that of a t-test over their logarithms', async (t) => {
  // Expected by scipy 1.17: exp(t.interval(0.95, 4, mean, sem)) of the logarithms of the ratios.
  const difference = pairedDifference([
    [100, 110],
    [102, 108],
    [98, 111],
    [101, 109],
    [99, 112],
  ]);
  t.ok(difference?.isShown);
  t.match(difference?.ratio.toFixed(4), '1.1000');
  t.match(difference?.low.toFixed(3), '1.061');
  t.match(difference?.high.toFixed(3), '1.141');
});

t.test("Student's t is that of the tables", async (t) => {
  // Expected by scipy 1.17: 2 * t.sf(value, freedom), and t.ppf(1 - share / 2, freedom).
  t.equal(pValueOf(2.5, 1).toFixed(5), '0.24224');
  t.equal(pValueOf(2.5, 4).toFixed(5), '0.06677');
  t.equal(pValueOf(-2.5, 7).toFixed(5), '0.04099');
  t.equal(quantileOf(0.05, 7).toFixed(4), '2.3646');
  t.equal(quantileOf(0.05, 2).toFixed(4), '4.3027');
  t.equal(quantileOf(0.01, 30).toFixed(4), '2.7500');
});

t.test(
  'of many estimates Holm shows those that chance does not explain in all of them together',
  async (t) => {
    const estimate = (times: number) => ({ mean: times, standardError: 1, freedom: 1_000 });
    const shown = (...all: number[]) => holmCorrection(all.map(estimate)).map(({ isShown }) => isShown);
    t.same(shown(2.1), [true], 'alone it is shown');
    t.same(shown(2.1, 0, 0, 0), [false, false, false, false], 'among four it is not');
    t.same(shown(0, 9, 2.3), [false, true, true], 'what is shown leaves the others more room');
  },
);

t.test('two runs of one kind show no difference', async (t) => {
  const run = (values: number[]) => {
    const stage = stageOf({ perSecond: 100, p50: 10 }, 0);
    const slices = { calls: values.map((value) => caseOf({ perSecond: value, p50: 1_000 / value })) };
    return [{ ...stage, slices }];
  };
  const a = run([100, 104, 96, 102, 98, 101, 99, 103, 97, 100]);
  const b = run([101, 97, 103, 99, 100, 98, 102, 96, 104, 100]);
  const rows = compareRuns(a, b);
  t.ok(rows.length > 0);
  t.ok(rows.every(({ change }) => change?.isShown === false));
  t.ok(compareRuns(run([1]), run([2])).every(({ conclusion }) => conclusion === 'too little was measured'));
});

t.test(
  'a slower side is shown, and fails only where its interval is above the share that is allowed',
  async (t) => {
    const a = [stageOf({ perSecond: 100, p50: 10 }, 0.01)];
    const b = [stageOf({ perSecond: 80, p50: 12.5 }, 0.01)];
    const rows = compareRuns(a, b);
    const failed = (failOver: number | null) => worseThan(rows, failOver).map(({ measure }) => measure);
    t.match(rows.find(({ measure }) => measure === 'perSecond')?.conclusion, /^-20(\.\d)? %/);
    t.ok(failed(0.05).includes('perSecond'), 'lower throughput is worse');
    t.ok(failed(0.05).includes('p50'), 'longer latency is worse');
    t.same(failed(0.245), [], 'the estimate is 25 %, but the bound of the interval is below 24.5 %');
    t.same(failed(null), []);
    t.equal(worseThan(compareRuns(b, a), 0.05).length, 0, 'a faster side never fails');
  },
);

t.test('a percentile with few answers beyond it is not compared', async (t) => {
  const few = [stageOf({ perSecond: 100, p50: 10, right: 100 }, 0.01)];
  const conclusions = Object.fromEntries(
    compareRuns(few, few).map(({ measure, conclusion }) => [measure, conclusion]),
  );
  t.match(conclusions.p50, /^no difference/);
  t.match(conclusions.p95, /^no difference/);
  t.equal(conclusions.p99, 'too few answers: 100 of 500');
});

const STAGES = ['small', 'camera', 'web', 'cards'];
const ROUNDS = 8;
/** Noise of one figure, as the standard deviation of its logarithm: CPU time is steady, speed is not. */
const NOISE = { cpu: 0.025, speed: 0.15, latency: 0.25 };

/** Interleaved rounds of two synthetic instances on a noisy machine, whose speed changes from round to round. */
function synthetic(seed: number, { cpuFactor = 1, errorShare = 0 } = {}) {
  const random = seededRandom(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const noise = (size: number) => Math.exp(size * normal());
  return Array.from({ length: ROUNDS }, () => {
    const mood = noise(0.3);
    const side = (factor: number, share: number) =>
      STAGES.map((name) => {
        const perSecond = (30 / mood) * noise(NOISE.speed);
        const figures = { perSecond, p50: 30 * mood * noise(NOISE.latency), right: 300, errorShare: share };
        const instanceCpuMs = 300 * 20 * factor * noise(NOISE.cpu);
        return { ...stageOf(figures, 0), name, instanceCpuMs };
      });
    return { a: side(1, 0), b: side(cpuFactor, errorShare) };
  });
}

t.test('ten comparisons of one tree with itself raise no alarm', async (t) => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const rows = compareRounds(synthetic(seed));
    t.equal(rows.length, STAGES.length * 6);
    t.same(worseThan(rows, 0), [], `seed ${seed}`);
    t.same(
      rows.filter(({ change }) => change?.isShown),
      [],
      `seed ${seed}`,
    );
  }
});

t.test('of a thousand comparisons of one tree with itself few raise an alarm', async (t) => {
  let alarms = 0;
  for (let seed = 1; seed <= 1_000; seed += 1)
    if (worseThan(compareRounds(synthetic(seed)), 0).length > 0) alarms += 1;
  // Of 1,000, 5 % in each of the two families that are noisy here; half of the alarms are of the better side.
  t.ok(alarms <= 70, `${alarms} of 1000`);
});

t.test('ten per cent more CPU time per call is found in nine of ten comparisons', async (t) => {
  let found = 0;
  for (let seed = 1; seed <= 10; seed += 1) {
    const worse = worseThan(compareRounds(synthetic(seed, { cpuFactor: 1.1 })), 0.01);
    if (worse.some(({ measure }) => measure === 'cpuMsPerCall')) found += 1;
  }
  t.ok(found >= 9, `${found} of 10`);
});

t.test('a side that refuses half is worse, whatever slowness is allowed', async (t) => {
  const rows = compareRounds(synthetic(1, { errorShare: 0.5 }));
  for (const failOver of [null, 10]) {
    const worse = worseThan(rows, failOver);
    t.same(
      worse.map(({ stage, measure }) => [stage, measure]),
      STAGES.map((name) => [name, 'errorShare']),
    );
  }
  const refused = worseThan(compareRounds(synthetic(1, { errorShare: 0.5 })), null)[0];
  t.match(refused?.conclusion, /^\+50 points/);
});

t.test('figures of both sides are means of all rounds', async (t) => {
  const round = (a: number, b: number) => ({
    a: [stageOf({ perSecond: a, p50: 10 }, 0)],
    b: [stageOf({ perSecond: b, p50: 10 }, 0)],
  });
  const row = compareRounds([round(50, 100), round(200, 100)]).find(({ measure }) => measure === 'perSecond');
  t.match(row, { a: 100, b: 100 });
});

t.test('a round in which the loader was the limit is left out, whichever round it is', async (t) => {
  const rounds = [100, 101, 99, 100].map((perSecond) => ({
    a: [stageOf({ perSecond, p50: 10 }, 0)],
    b: [stageOf({ perSecond, p50: 10 }, 0)],
  }));
  const limited = { ...stageOf({ perSecond: 1, p50: 1_000 }, 0), loader: limitedLoader };
  const row = (all: typeof rounds) => compareRounds(all).find(({ measure }) => measure === 'perSecond');
  t.equal(row([{ a: [limited], b: [limited] }, ...rounds])?.a, row(rounds)?.a);
  t.equal(row([{ a: [limited], b: [limited] }])?.conclusion, limitedLoader.limit);
});

const limitedLoader = {
  cpuShare: 1,
  lagP99Ms: 90,
  lateShare: 0,
  limit: 'The loader was the limit: it used 100 % of its core.',
};

t.test('CPU time and errors are compared though the loader was the limit', async (t) => {
  const side = (instanceCpuMs: number, errorShare: number) => [
    { ...stageOf({ perSecond: 10, p50: 10, errorShare }, 0), loader: limitedLoader, instanceCpuMs },
  ];
  const rows = compareRounds(
    [0, 1, 2, 3].map((more) => ({ a: side(100 + more, 0), b: side(150 + more, 0.2) })),
  );
  const shown = rows.filter(({ change }) => change !== null).map(({ measure }) => measure);
  t.same(shown, ['errorShare', 'cpuMsPerCall']);
  t.same(
    worseThan(rows, 0.05).map(({ measure }) => measure),
    shown,
  );
});

t.test('a comparison concludes in a sentence', async (t) => {
  const a = [stageOf({ perSecond: 100, p50: 10 }, 0.01)];
  const slow = [stageOf({ perSecond: 80, p50: 10 }, 0.01)];
  t.match(conclusionOf(compareRuns(a, slow)), /^1 of 5 rows worse: stage, calls: perSecond -20 % \(.*\)\.$/);
  t.match(conclusionOf(compareRuns(slow, a)), /^0 of 5 rows worse, 1 better\.$/);
  const few = [stageOf({ perSecond: 100, p50: 10, right: 100 }, 0.01)];
  t.equal(conclusionOf(compareRuns(few, few)), '0 of 4 rows worse. 4 of 5 rows were compared.');
  const limited = [{ ...a[0], loader: limitedLoader } as (typeof a)[0]];
  t.equal(conclusionOf(compareRuns(limited, a)), `Nothing could be compared: ${limitedLoader.limit}`);
  t.match(conclusionOf([]), /^Nothing could be compared/);
});

t.test('a ref that is none leaves nothing behind', async (t) => {
  const folders = async () =>
    (await readdir(tmpdir())).filter((name) => name.startsWith('darkroom-against-'));
  const before = await folders();
  const options = { url: '', keys: [], yes: false, settings: {}, accounts: 1 };
  for (const against of ['nosuchref', '127.0.0.1:9', '--help'])
    await t.rejects(
      openOtherSide(against, options),
      /--against is ".+", but a commit, branch or tag/,
      against,
    );
  t.same(await folders(), before);
});

t.test('a stage in which the loader was the limit is not compared', async (t) => {
  const a = [{ ...stageOf({ perSecond: 100, p50: 10 }, 0.01), loader: limitedLoader }];
  const rows = compareRuns(a, [stageOf({ perSecond: 50, p50: 20 }, 0.01)]);
  t.ok(rows.length > 0);
  t.ok(rows.every(({ change, conclusion }) => change === null && conclusion === limitedLoader.limit));
});
