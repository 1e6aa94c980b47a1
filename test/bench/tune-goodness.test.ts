// needs: nothing
import t from 'tap';
import { ratiosOf, readWeights } from '../../bench/tune/goodness.ts';
import { stageOf } from './results.ts';

t.test('goodness weighs throughput, and a far longer tail spoils it', async (t) => {
  const a = stageOf({ perSecond: 100, p50: 10 }, 0);
  const ratios = (b: typeof a) => ratiosOf({ a: [a], b: [b] }, { calls: 1 });
  const round = (b: typeof a) => ratios(b).goodness;
  t.equal(round(stageOf({ perSecond: 150, p50: 10 }, 0))?.toFixed(2), '1.50');
  t.equal(round(stageOf({ perSecond: 150, p50: 30 }, 0))?.toFixed(2), '0.75', 'three times the p99');
  const limited = { cpuShare: 1, lagP99Ms: 1, lateShare: 0, limit: 'The loader was the limit.' };
  t.equal(round({ ...a, loader: limited }), null);
  t.equal(round(stageOf({ perSecond: 100, p50: 10 / 3 }, 0))?.toFixed(2), '2.00', 'a third of the p99');
  t.equal(ratios(a).cpu, null, 'no CPU time is known');
  const cost = (instanceCpuMs: number) => ({ ...a, instanceCpuMs });
  const { cpu } = ratiosOf({ a: [cost(1_000)], b: [cost(1_200)] }, { calls: 1 });
  t.equal(cpu?.toFixed(2), '1.20');
});

t.test('a mix is read by its cases, or refused with what is accepted', async (t) => {
  const usual = { small: 1, web: 2 };
  t.same(readWeights('', usual), usual);
  t.same(readWeights('web=3', usual), { small: 0, web: 3 });
  for (const wrong of ['web', 'web=x', 'other=1', 'web=-1', 'web=0'])
    t.throws(() => readWeights(wrong, usual), /--mix/);
});
