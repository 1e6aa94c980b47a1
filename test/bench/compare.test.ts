// needs: nothing
import t from 'tap';
import { pairedDifference, unpairedDifference } from '../../bench/compare/interval.ts';
import { compareRounds, compareRuns, worseThan } from '../../bench/compare/rows.ts';
import { stageOf } from './results.ts';

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

t.test('two runs of one kind show no difference', async (t) => {
  const a = [100, 104, 96, 102, 98, 101, 99, 103, 97, 100];
  const b = [101, 97, 103, 99, 100, 98, 102, 96, 104, 100];
  t.equal(unpairedDifference(a, b)?.isShown, false);
  t.equal(unpairedDifference([1], [2]), null, 'one value per side says nothing');
});

t.test('a slower side is shown, and fails only above the share that is allowed', async (t) => {
  const a = [stageOf({ perSecond: 100, p50: 10 }, 0.01)];
  const b = [stageOf({ perSecond: 80, p50: 12.5 }, 0.01)];
  const rows = compareRuns(a, b);
  t.match(rows.find(({ measure }) => measure === 'perSecond')?.verdict, /^-20(\.\d)? %/);
  t.ok(
    worseThan(rows, 0.05).some(({ measure }) => measure === 'perSecond'),
    'lower throughput is worse',
  );
  t.ok(
    worseThan(rows, 0.05).some(({ measure }) => measure === 'p50'),
    'longer latency is worse',
  );
  t.equal(worseThan(rows, 0.3).length, 0);
  t.equal(worseThan(compareRuns(b, a), 0.05).length, 0, 'a faster side never fails');
});

t.test('noise of ten per cent hides a difference of two in a few rounds', async (t) => {
  const values: Array<[number, number]> = [
    [90, 102],
    [110, 101],
    [95, 104],
    [105, 99],
  ];
  const rounds = values.map(([a, b]) => ({
    a: [stageOf({ perSecond: a, p50: 10 }, 0)],
    b: [stageOf({ perSecond: b, p50: 10 }, 0)],
  }));
  const row = compareRounds(rounds).find(({ measure }) => measure === 'perSecond');
  t.match(row?.verdict, /^no difference shown/);
});

t.test('a stage in which the loader was the limit is not compared', async (t) => {
  const limited = {
    cpuShare: 1,
    lagP99Ms: 90,
    limit: 'The loader was the limit: it used 100 % of its core.',
  };
  const a = [{ ...stageOf({ perSecond: 100, p50: 10 }, 0.01), loader: limited }];
  const rows = compareRuns(a, [stageOf({ perSecond: 50, p50: 20 }, 0.01)]);
  t.ok(rows.length > 0);
  t.ok(rows.every(({ difference, verdict }) => difference === null && verdict === limited.limit));
});
