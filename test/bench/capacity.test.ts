// needs: nothing
import t from 'tap';
import {
  brokenCondition,
  queueGrowth,
  readObjective,
  searchCapacity,
  type TriedRate,
} from '../../bench/capacity/search.ts';
import { caseOf, stageOf } from './results.ts';

/** Searches for the capacity of a service that holds up to a rate, and counts the rates that were tried. */
async function search(capacity: number, first: number, isDisturbed: (turn: number) => boolean = () => false) {
  const rates: number[] = [];
  const confirmed: number[] = [];
  const found = await searchCapacity<TriedRate>({
    first,
    probe: async (rate) => {
      rates.push(rate);
      return { rate, holds: rate <= capacity && !isDisturbed(rates.length) };
    },
    confirm: async (rate) => {
      confirmed.push(rate);
      return { rate, holds: rate <= capacity };
    },
  });
  return { ...found, rates, confirmed };
}

t.test('the search ends within 5 % below the capacity, from wherever it begins', async (t) => {
  for (const capacity of [0.7, 3, 24, 480])
    for (const first of [1, capacity, capacity * 0.6, capacity * 2.2]) {
      const { best, next, isCutShort, rates, confirmed } = await search(capacity, first);
      const rate = Number(best?.rate);
      const trial = `${capacity} from ${first}: ${rate} in ${rates.length} probes`;
      t.equal(isCutShort, false, trial);
      t.ok(rate <= capacity && rate >= capacity / 1.05, trial);
      t.ok(Number(next?.rate) > capacity);
      t.same(confirmed, [rate], 'it is confirmed once');
    }
});

t.test('a rate that fails once by chance does not count as failed', async (t) => {
  const { best } = await search(24, 20, (turn) => turn % 5 === 1);
  t.ok(Number(best?.rate) >= 24 / 1.05, `${best?.rate} was found`);
});

t.test('a rate that holds by chance is not reported: it fails when it is confirmed', async (t) => {
  const tried: number[] = [];
  const { best, next } = await searchCapacity<TriedRate>({
    first: 50,
    // Short trials are lenient by a fifth.
    probe: async (rate) => {
      tried.push(rate);
      return { rate, holds: rate <= 60 };
    },
    confirm: async (rate) => ({ rate, holds: rate <= 50 }),
  });
  t.ok(Number(best?.rate) <= 50 && Number(best?.rate) >= 50 / 1.05, `${best?.rate} after ${tried}`);
  t.ok(Number(next?.rate) > 50);
});

t.test('a queue that grows is seen, and one that is long but level is not', async (t) => {
  const stage = (latenciesMs: readonly number[]) =>
    latenciesMs.map((p50) => caseOf({ perSecond: 5, p50, right: 5 }));
  const ten = (read: (index: number) => number) => Array.from({ length: 10 }, (_, index) => read(index));
  t.equal(queueGrowth(stage(ten(() => 900)), 10), null);
  t.equal(queueGrowth(stage(ten((index) => 20 + (index % 2) * 60)), 3), null, 'a wavering one');
  // A server of one worker of 20 ms gets 54 calls a second: 0.08 s more of waiting in each second.
  const overloaded = stage(ten((index) => 20 + 80 * 0.3 * index));
  t.equal(queueGrowth(overloaded, 3), 'its queue grew: the mean latency went from 44 to 212 ms');
  const lost = [...stage(ten(() => 20)).slice(0, 7), ...Array.from({ length: 3 }, () => noAnswer)];
  t.match(queueGrowth(lost, 10), /the last third has no right answer/);
});

const noAnswer = { ...caseOf({ perSecond: 0, p50: 1 }), right: 0, latencyMs: null };

t.test('a service that holds nothing, and a run that is stopped, end the search', async (t) => {
  t.match(await search(0, 8), { best: null, isCutShort: false });
  t.match(await search(Number.POSITIVE_INFINITY, 8), { next: null, isCutShort: true });
  const stopped = await searchCapacity<TriedRate>({
    first: 8,
    probe: async () => null,
    confirm: async () => null,
  });
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
  const errors = { '503 capacity': 1, '429 request_rate': 19 };
  t.equal(
    brokenCondition({ ...result, errorShare: 0.02, errors }, readObjective('p99<1s,errors<1%')),
    'errors<1%: 2 %, 429 request_rate × 19',
  );
  t.equal(
    brokenCondition({ ...result, latencyMs: null, errors }, readObjective('p99<1s')),
    'p99<1s: no right answer, 429 request_rate × 19',
  );
});
