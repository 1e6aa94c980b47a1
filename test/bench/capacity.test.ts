// needs: nothing
import t from 'tap';
import { brokenCondition, readObjective } from '../../bench/capacity/objective.ts';
import { type Probe, searchCapacity } from '../../bench/capacity/search.ts';
import { stageOf } from './results.ts';

/** Searches for the capacity of a service that holds up to a rate, and counts the rates that were tried. */
async function search(capacity: number, first: number, isDisturbed: (turn: number) => boolean = () => false) {
  const rates: number[] = [];
  const found = await searchCapacity<Probe>({
    first,
    probe: async (rate) => {
      rates.push(rate);
      return { rate, holds: rate <= capacity && !isDisturbed(rates.length) };
    },
  });
  return { ...found, rates };
}

t.test('the search ends within 5 % below the capacity, from wherever it begins', async (t) => {
  for (const capacity of [0.7, 3, 24, 480])
    for (const first of [1, capacity, capacity * 0.6, capacity * 2.2]) {
      const { best, next, isCutShort, rates } = await search(capacity, first);
      const rate = Number(best?.rate);
      const trial = `${capacity} from ${first}: ${rate} in ${rates.length} probes`;
      t.equal(isCutShort, false, trial);
      t.ok(rate <= capacity && rate >= capacity / 1.05, trial);
      t.ok(Number(next?.rate) > capacity);
    }
});

t.test('a rate that fails once by chance does not count as failed', async (t) => {
  const { best } = await search(24, 20, (turn) => turn % 5 === 1);
  t.ok(Number(best?.rate) >= 24 / 1.05, `${best?.rate} was found`);
});

t.test('a service that holds nothing, and a run that is stopped, end the search', async (t) => {
  t.match(await search(0, 8), { best: null, isCutShort: false });
  t.match(await search(Number.POSITIVE_INFINITY, 8), { next: null, isCutShort: true });
  const stopped = await searchCapacity<Probe>({ first: 8, probe: async () => null });
  t.same(stopped, { best: null, next: null, isCutShort: true });
});

t.test('an objective is read, and a mistake in it is named', async (t) => {
  t.match(readObjective('p99<200ms, errors<0.1%'), [
    { measure: 'p99', below: 200 },
    { measure: 'errors', below: 0.001 },
  ]);
  t.match(readObjective('p50<1.5s'), [{ measure: 'p50', below: 1500 }]);
  for (const wrong of ['p98<200ms', 'p99<200', 'p99>200ms', 'errors<3ms', 'p99<3%', ''])
    t.throws(() => readObjective(wrong), /expected: p99<200ms/, wrong);
  t.throws(() => readObjective('errors<1%'), /needs a latency/);
});

t.test('the first condition that is not met is named with its figure', async (t) => {
  const result = stageOf({ perSecond: 10, p50: 125 }, 0.1).cases.calls;
  if (result === undefined) throw new Error('The stage has no case.');
  t.equal(brokenCondition(result, readObjective('p99<300ms,errors<0%')), null, 'no error meets a share of 0');
  t.equal(brokenCondition(result, readObjective('p50<126ms,p99<200ms')), 'p99<200ms: 250 ms');
  t.equal(
    brokenCondition({ ...result, errorShare: 0.02 }, readObjective('p99<1s,errors<1%')),
    'errors<1%: 2 %',
  );
  t.equal(
    brokenCondition({ ...result, latencyMs: null }, readObjective('p99<1s')),
    'p99<1s: no right answer',
  );
});
