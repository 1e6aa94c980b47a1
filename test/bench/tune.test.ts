// needs: nothing
import t from 'tap';
import { seeded } from '../../bench/load/random.ts';
import { type Candidate, firstCandidates, joined, keyOf } from '../../bench/tune/candidates.ts';
import { goodnessOf, readWeights } from '../../bench/tune/goodness.ts';
import { CONFIRMING_ROUNDS, search } from '../../bench/tune/search.ts';
import { createTrialClock } from '../../bench/tune/trial-clock.ts';
import { stageOf } from './results.ts';

const LIMITS = { cores: 2, memoryMegabytes: 8_000 };

/** A host whose true goodness of a setting is known, measured with so much noise. */
function host(truth: (candidate: Candidate) => number, noise: number, seed: number) {
  const random = seeded(seed);
  const measured: Array<{ key: string; rounds: number }> = [];
  return {
    measured,
    measure: async (candidate: Candidate, rounds: number) => {
      measured.push({ key: keyOf(candidate), rounds });
      return Array.from({ length: rounds }, () => truth(candidate) * Math.exp((random() - 0.5) * 2 * noise));
    },
  };
}
const always = () => true;

t.test(
  'a better setting is found, and confirmed in at least ten rounds that did not choose it',
  async (t) => {
    const { measure, measured } = host(({ PROCESSES }) => (PROCESSES === '3' ? 1.2 : 0.95), 0.03, 1);
    const outcome = await search({ candidates: firstCandidates(LIMITS, {}), measure, hasTimeFor: always });
    t.same(outcome.recommended.PROCESSES, '3');
    t.ok(CONFIRMING_ROUNDS >= 10);
    t.equal(measured.at(-1)?.key, keyOf(outcome.recommended));
    t.ok(Number(measured.at(-1)?.rounds) >= CONFIRMING_ROUNDS);
  },
);

t.test('two settings that help together are found together', async (t) => {
  const truth = ({ PROCESSES, UV_THREADPOOL_SIZE }: Candidate) =>
    (PROCESSES === '3' ? 1.15 : 1) * (UV_THREADPOOL_SIZE === '16' ? 1.15 : 1) * 0.98;
  const { measure } = host(truth, 0.01, 2);
  const outcome = await search({ candidates: firstCandidates(LIMITS, {}), measure, hasTimeFor: always });
  t.same(outcome.recommended, { PROCESSES: '3', UV_THREADPOOL_SIZE: '16' });
});

t.test('where nothing is better, chance recommends nothing: at most a few in a hundred runs', async (t) => {
  let recommended = 0;
  for (let seed = 0; seed < 100; seed += 1) {
    const { measure } = host(() => 1, 0.08, seed);
    const outcome = await search({ candidates: firstCandidates(LIMITS, {}), measure, hasTimeFor: always });
    if (Object.keys(outcome.recommended).length > 0) recommended += 1;
  }
  t.ok(recommended <= 8, `${recommended} of 100 runs recommended what is no better`);
});

t.test(
  'a host that is too noisy is named so, after the default was measured beside itself alone',
  async (t) => {
    const { measure, measured } = host(() => 1, 1.5, 3);
    const outcome = await search({ candidates: firstCandidates(LIMITS, {}), measure, hasTimeFor: always });
    t.same(outcome.recommended, {});
    t.match(outcome.reason, /too noisy/);
    t.equal(measured.length, 1);
  },
);

t.test(
  'a bad setting of the environment is tried though time is short, and the answer says to take it out',
  async (t) => {
    const current = { PROCESSES: '1', IMAGE_THREADS: '8' };
    const { measure, measured } = host(
      (candidate) => (keyOf(candidate) === keyOf(current) ? 0.6 : 1),
      0.03,
      5,
    );
    const spent = () => measured.reduce((sum, { rounds }) => sum + rounds, 0);
    const outcome = await search({
      candidates: firstCandidates(LIMITS, current),
      current,
      measure,
      hasTimeFor: (...trials) => trials.reduce((sum, rounds) => sum + rounds, spent()) <= 24,
    });
    t.same(outcome.recommended, {});
    t.match(
      outcome.reason,
      /IMAGE_THREADS=8 PROCESSES=1, which is worse: 0\.\d+ of the default .*Take it out/,
    );
  },
);

t.test('a present setting that is no worse is left to the operator, with its figure', async (t) => {
  const current = { PROCESSES: '4' };
  const { measure } = host(() => 1, 0.03, 6);
  const outcome = await search({
    candidates: firstCandidates(LIMITS, current),
    current,
    measure,
    hasTimeFor: always,
  });
  t.match(outcome.reason, /PROCESSES=4, which was not shown to be better: [01]\.\d+/);
});

t.test('the time of trials is known by what they take to begin and by their rounds', async (t) => {
  let nowMs = 0;
  const clock = createTrialClock(1_000, () => nowMs);
  t.ok(clock.hasTimeFor(1_000), 'nothing is known yet');
  const trial = (rounds: number) =>
    clock.time(rounds, async (onRound) => {
      nowMs += 100;
      for (let round = 0; round < rounds; round += 1) {
        nowMs += 10;
        onRound();
      }
    });
  await trial(2);
  await trial(4);
  // 260 ms are spent: a trial takes 100 ms and 10 per round.
  t.ok(clock.hasTimeFor(63));
  t.notOk(clock.hasTimeFor(64));
  t.ok(clock.hasTimeFor(20, 30), '300 and 400 ms');
  t.notOk(clock.hasTimeFor(30, 24), 'two trials begin twice');
});

t.test('without time to confirm it nothing is recommended', async (t) => {
  const { measure } = host(() => 1.5, 0.01, 4);
  const outcome = await search({ candidates: firstCandidates(LIMITS, {}), measure, hasTimeFor: () => false });
  t.same(outcome.recommended, {});
  t.match(outcome.reason, /Keep the default/);
});

t.test(
  'candidates keep to the cores and the memory of the host, and the present setting is one of them',
  async (t) => {
    const keys = firstCandidates(LIMITS, { PROCESSES: '1', IMAGE_THREADS: '8' }).map(keyOf);
    t.ok(keys.includes('IMAGE_THREADS=8 PROCESSES=1'));
    t.notOk(keys.includes('PROCESSES=2'), 'one process per core is the default already');
    t.equal(new Set(keys).size, keys.length);
    const tight = firstCandidates({ cores: 8, memoryMegabytes: 2_000 }, {}).flatMap(
      ({ PROCESSES }) => PROCESSES ?? [],
    );
    t.ok(
      tight.every((count) => Number(count) <= 3),
      `2 GB are too little for ${tight.join(', ')} processes`,
    );
    t.same(joined([{ A: '1' }, { A: '2' }, { B: '1' }]), [
      { A: '1', B: '1' },
      { A: '2', B: '1' },
    ]);
  },
);

t.test('goodness weighs throughput, and a far longer tail spoils it', async (t) => {
  const a = stageOf({ perSecond: 100, p50: 10 }, 0);
  const round = (b: typeof a) => goodnessOf({ a: [a], b: [b] }, { calls: 1 });
  t.equal(round(stageOf({ perSecond: 150, p50: 10 }, 0))?.toFixed(2), '1.50');
  t.equal(round(stageOf({ perSecond: 150, p50: 30 }, 0))?.toFixed(2), '0.75', 'three times the p99');
  const limited = { cpuShare: 1, lagP99Ms: 1, lateShare: 0, limit: 'The loader was the limit.' };
  t.equal(round({ ...a, loader: limited }), null);
});

t.test('a mix is read by its cases, or refused with what is accepted', async (t) => {
  const usual = { small: 1, web: 2 };
  t.same(readWeights('', usual), usual);
  t.same(readWeights('web=3', usual), { small: 0, web: 3 });
  for (const wrong of ['web', 'web=x', 'other=1', 'web=-1', 'web=0'])
    t.throws(() => readWeights(wrong, usual), /--mix/);
});
