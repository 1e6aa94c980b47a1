// needs: nothing
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { hostFacts } from '../../bench/report/load-report.ts';
import { tunePage } from '../../bench/report/tune-page.ts';
import suite from '../../bench/suites/tune.ts';
import { conclusionOf, falseAlarmsOf } from '../../bench/tune/evidence.ts';
import { powerAfter, powerBefore, stagesFor } from '../../bench/tune/power.ts';
import {
  type CandidateTrial,
  CONFIRMING_ROUNDS,
  type Recommendation,
  search,
} from '../../bench/tune/search.ts';
import {
  type Candidate,
  combineBest,
  firstCandidates,
  keyOf,
  readCurrentSettings,
  writeRecommended,
} from '../../bench/tune/settings.ts';
import { TrialClock } from '../../bench/tune/trial-clock.ts';
import { seededRandom } from '../../workers/models/random.ts';

const HOST_SIZE = { cores: 2, memoryMegabytes: 8_000 };
const CANDIDATES = firstCandidates(HOST_SIZE);

interface Truth {
  goodness?: (candidate: Candidate) => number;
  cpu?: (candidate: Candidate) => number;
  /** Largest change of a ratio by chance: 0.1 is up to 10 % either way. */
  noise: number;
  seed: number;
  /** Rounds that there is time for; a trial takes one more to begin. */
  budget?: number;
}

/** A host whose true goodness of a setting is known, measured with noise. */
function host({ goodness = () => 1, cpu = () => 1, noise, seed, budget = Number.POSITIVE_INFINITY }: Truth) {
  const random = seededRandom(seed);
  const measured: Array<{ key: string; base: string; rounds: number }> = [];
  const chance = (most: number) => Math.exp((random() - 0.5) * 2 * most);
  const spent = () => measured.reduce((sum, { rounds }) => sum + rounds + 1, 0);
  return {
    measured,
    measure: async (candidate: Candidate, base: Candidate, rounds: number) => {
      measured.push({ key: keyOf(candidate), base: keyOf(base), rounds });
      const ratio = (truth: (one: Candidate) => number, most: number) =>
        (truth(candidate) / truth(base)) * chance(most);
      return {
        rounds: Array.from({ length: rounds }, () => ({
          goodness: ratio(goodness, noise),
          cpu: ratio(cpu, noise / 4),
        })),
        figures: [],
      };
    },
    hasTimeFor: (...trials: number[]) => trials.reduce((sum, rounds) => sum + rounds + 1, spent()) <= budget,
  };
}

function searched(truth: Truth, current: Candidate = {}, onTrial?: (trial: CandidateTrial) => void) {
  const { measured, ...host_ } = host(truth);
  const outcome = search({ candidates: CANDIDATES, current, ...host_, ...(onTrial && { onTrial }) });
  return outcome.then((found) => ({ ...found, measured }));
}

const isKey = (candidate: Candidate, key: string) => keyOf(candidate) === key;

t.test(
  'a better setting is found, and confirmed in at least ten rounds that did not choose it',
  async (t) => {
    const goodness = ({ PROCESSES }: Candidate) => (PROCESSES === '3' ? 1.2 : 0.95);
    const { recommended, isChange, measured, reason } = await searched({ goodness, noise: 0.03, seed: 1 });
    t.same(recommended.PROCESSES, '3');
    t.ok(isChange);
    t.ok(CONFIRMING_ROUNDS >= 10);
    t.equal(measured.at(-1)?.key, keyOf(recommended));
    t.ok(Number(measured.at(-1)?.rounds) >= CONFIRMING_ROUNDS);
    t.match(reason, /^Use .*PROCESSES=3.*: \d+ % better than the default in \d+ rounds \(at least [\d.]+ %/);
  },
);

t.test('two settings that help together are found together', async (t) => {
  const goodness = ({ PROCESSES, UV_THREADPOOL_SIZE }: Candidate) =>
    (PROCESSES === '3' ? 1.15 : 1) * (UV_THREADPOOL_SIZE === '16' ? 1.15 : 1) * 0.98;
  const { recommended } = await searched({ goodness, noise: 0.01, seed: 2 });
  t.same(recommended, { PROCESSES: '3', UV_THREADPOOL_SIZE: '16' });
});

for (const [noise, budget] of [
  [0.08, Number.POSITIVE_INFINITY],
  [0.5, Number.POSITIVE_INFINITY],
  [0.5, 40],
] as const)
  t.test(
    `noise of ${noise} and time for ${budget} rounds recommend nothing: at most a few in a hundred runs`,
    async (t) => {
      let recommended = 0;
      for (let seed = 0; seed < 100; seed += 1)
        if ((await searched({ noise, seed, budget })).isChange) recommended += 1;
      t.ok(recommended <= 8, `${recommended} of 100 runs recommended what is no better`);
    },
  );

t.test('a noisy host takes more rounds, and finds what is better all the same', async (t) => {
  const goodness = ({ PROCESSES }: Candidate) => (PROCESSES === '3' ? 1.4 : 0.9);
  const rounds: number[] = [];
  let found = 0;
  for (let seed = 1; seed <= 20; seed += 1) {
    const { recommended, trials } = await searched({ goodness, noise: 0.8, seed });
    if (recommended.PROCESSES === '3') found += 1;
    rounds.push(trials.at(-1)?.rounds ?? 0);
  }
  t.ok(found >= 15, `${found} of 20 runs found it`);
  t.ok(Math.max(...rounds) > CONFIRMING_ROUNDS, `${rounds.join(', ')} rounds`);
});

t.test('when time is short, the best so far is confirmed in the rounds that are left', async (t) => {
  const goodness = (candidate: Candidate) => (isKey(candidate, 'PROCESSES=1') ? 1.3 : 0.97);
  // One candidate: 3. Then 13 are left, one too few for a second candidate.
  const { recommended, measured } = await searched({ goodness, noise: 0.02, seed: 3, budget: 16 });
  t.same(
    measured.map(({ key, rounds }) => [key, rounds]),
    [
      ['PROCESSES=1', 2],
      ['PROCESSES=1', 10],
    ],
  );
  t.same(recommended, { PROCESSES: '1' });
  const slower = host({ goodness, noise: 0.02, seed: 3 });
  const outcome = await search({
    candidates: CANDIDATES,
    measure: slower.measure,
    // The trials took longer than was thought: five rounds are left.
    hasTimeFor: (...trials) => slower.measured.length < 1 || (trials.length === 1 && Number(trials[0]) <= 5),
  });
  t.same(slower.measured.at(-1), { key: 'PROCESSES=1', base: 'default', rounds: 5 });
  t.same(outcome.recommended, { PROCESSES: '1' });
});

t.test('what looked better and was not confirmed is named with its figures', async (t) => {
  const goodness = (candidate: Candidate) => (isKey(candidate, 'PROCESSES=1') ? 1.3 : 0.97);
  let spent = 0;
  const { measure } = host({ goodness, noise: 0.02, seed: 3 });
  const { isChange, reason } = await search({
    candidates: CANDIDATES,
    measure: async (...words) => {
      spent += 1;
      return measure(...words);
    },
    // The time that was thought to be there for the confirmation is gone.
    hasTimeFor: () => spent < 1,
  });
  t.notOk(isChange);
  t.match(
    reason,
    /^Keep the default\. PROCESSES=1 looked better, not confirmed: 1\.\d\d \(.*\) in 2 rounds of the default, and there was no time for more\.$/,
  );
  const noise = await searched({ noise: 0.3, seed: 8 });
  t.match(noise.reason, /looked better, not confirmed: .* when it was tried again/);
  const worse = await searched({
    goodness: (one) => (isKey(one, 'default') ? 1 : 0.8),
    noise: 0.02,
    seed: 9,
  });
  t.equal(worse.reason, 'Keep the default. No other setting looked better than the default.');
  const untried = await searched({ noise: 0.1, seed: 9, budget: 5 });
  t.equal(untried.reason, 'Keep the default. There was no time to try other settings.');
});

for (const [current, truth] of [
  [
    { PROCESSES: '1', IMAGE_THREADS: '8' },
    { goodness: 0.75, cpu: 1 },
  ],
  [{ UV_THREADPOOL_SIZE: '1' }, { goodness: 1, cpu: 1.2 }],
] as const)
  for (const seed of [1, 2, 3])
    t.test(`from ${keyOf(current)} it goes back to the default (seed ${seed})`, async (t) => {
      const { recommended, isChange, reason } = await searched(
        {
          goodness: (one) => (isKey(one, keyOf(current)) ? truth.goodness : isKey(one, 'default') ? 1 : 0.95),
          cpu: (one) => (isKey(one, keyOf(current)) ? truth.cpu : 1),
          noise: 0.15,
          seed,
          budget: 60,
        },
        current,
      );
      t.same([recommended, isChange], [{}, true], reason);
      t.match(reason, `Go back to the default: ${keyOf(current)}, which is set now, is worse than it: `);
    });

t.test('from a bad start, what is better than the default is recommended instead', async (t) => {
  const current = { PROCESSES: '1', IMAGE_THREADS: '8' };
  const goodness = (one: Candidate) =>
    isKey(one, keyOf(current))
      ? 0.7
      : isKey(one, 'UV_THREADPOOL_SIZE=16')
        ? 1.2
        : isKey(one, 'default')
          ? 1
          : 0.9;
  const { recommended, reason } = await searched({ goodness, noise: 0.05, seed: 4 }, current);
  t.same(recommended, { UV_THREADPOOL_SIZE: '16' });
  t.match(reason, /^Use UV_THREADPOOL_SIZE=16: .* IMAGE_THREADS=8 PROCESSES=1, which is set now, is worse/);
});

t.test('a present setting that is no worse stays, and another has to be better than it', async (t) => {
  const current = { PROCESSES: '4' };
  const alike = await searched({ noise: 0.03, seed: 6 }, current);
  t.notOk(alike.isChange);
  t.same(alike.recommended, current);
  t.match(alike.reason, /^Keep PROCESSES=4, .* neither better nor worse than the default: [01]\.\d+/);

  const goodness = (one: Candidate) =>
    (one.PROCESSES === '4' ? 1.3 : 1) * (one.UV_THREADPOOL_SIZE === '16' ? 1.1 : 1);
  const good = await searched({ goodness, noise: 0.03, seed: 7 }, current);
  t.same(good.recommended, { PROCESSES: '4', UV_THREADPOOL_SIZE: '16' });
  t.match(good.reason, /better than PROCESSES=4, which is set now in/);
  t.equal(good.measured.at(-1)?.base, 'PROCESSES=4');
});

t.test(
  'on a busy host the time is given to the present settings, until they are shown to be worse',
  async (t) => {
    const current = { PROCESSES: '1', IMAGE_THREADS: '8' };
    const goodness = (one: Candidate) => (isKey(one, keyOf(current)) ? 0.65 : 1);
    for (const seed of [1, 2, 3]) {
      const found = await searched({ goodness, noise: 0.8, seed, budget: 50 }, current);
      t.same([found.recommended, found.isChange], [{}, true], found.reason);
      t.ok(found.measured.every(({ base }) => base === 'default'));
    }
  },
);

t.test('no time is given back while the present settings may still be shown to be worse', async (t) => {
  const current = { PROCESSES: '1', IMAGE_THREADS: '8' };
  const goodness = (one: Candidate) => (isKey(one, keyOf(current)) ? 0.9 : 1);
  for (const budget of [12, 20, 33]) {
    const { measured, reason } = await searched({ goodness, noise: 0.9, seed: 5, budget }, current);
    const spent = measured.reduce((sum, { rounds }) => sum + rounds + 1, 0);
    t.ok(budget - spent < 4, `${spent} of ${budget} rounds: ${reason}`);
  }
});

t.test('what the time can show is said before and after the first trial', async (t) => {
  const weights = { small: 1, web: 2, camera: 1, cards: 0.5, big: 0.5 };
  t.match(powerBefore(60_000, weights), /^1 min are too short to try and confirm a setting: --minutes 2 is/);
  t.match(
    powerBefore(7 * 60_000, weights),
    /^7 min are at most 33 rounds of 12 s\. .* difference of 6 % on a quiet host, and of 27 % on a busy one\.$/,
  );
  const ratios = [0.8, 1.2, 0.9, 1.1].map((goodness) => ({ goodness, cpu: 1 }));
  const trial = { candidate: {}, base: {}, rounds: 4, ratios, goodness: null, cpu: null, figures: [] };
  t.match(
    powerAfter(trial, 25),
    /^Rounds differ by 19 % here, the halves of this trial by \d %\. .* 25 rounds, which show a difference of 12 %/,
  );
  t.match(powerAfter({ ...trial, ratios: [] }, 25), /too few figures/);
});

t.test('a setting that costs more CPU time than it gains is not recommended', async (t) => {
  const goodness = (one: Candidate) => (isKey(one, 'PROCESSES=3') ? 1.1 : isKey(one, 'default') ? 1 : 0.9);
  const cpu = (one: Candidate) => (isKey(one, 'PROCESSES=3') ? 1.3 : 1);
  const { isChange } = await searched({ goodness, cpu, noise: 0.02, seed: 5 });
  t.notOk(isChange);
  const rounds = (goodness: number, cpu: number) =>
    [0.99, 1, 1.01].map((factor) => ({ goodness: goodness * factor, cpu: cpu * factor }));
  t.equal(conclusionOf(rounds(1.2, 1)), 'better');
  t.equal(conclusionOf(rounds(1.2, 1.1)), 'better', 'it gains more than it costs');
  t.equal(conclusionOf(rounds(1.2, 1.5)), 'open');
  t.equal(conclusionOf(rounds(1, 1.2)), 'worse');
  t.equal(conclusionOf(rounds(1, 1.04)), 'open', 'within 5 %');
  t.equal(conclusionOf(rounds(0.8, 0.5)), 'worse');
  t.equal(conclusionOf([]), 'open');
});

t.test('many looks at the figures together have the false alarms of one', async (t) => {
  const shares = Array.from({ length: 1_000 }, (_, index) => falseAlarmsOf(index + 1));
  t.ok(shares.reduce((sum, share) => sum + share, 0) <= 0.05);
});

t.test('each trial says its place among those that are planned', async (t) => {
  const places: Array<{ number: number; of: number }> = [];
  const { measure, hasTimeFor } = host({ noise: 0.05, seed: 1 });
  const onTrial = (_: CandidateTrial, place: { number: number; of: number }) => places.push(place);
  const { trials } = await search({ candidates: CANDIDATES, measure, hasTimeFor, onTrial });
  t.equal(places.length, trials.length);
  t.same(
    places.map(({ number }) => number),
    trials.map((_, index) => index + 1),
  );
  t.ok(places.every(({ number, of }) => number <= of));
  t.ok(Number(places[0]?.of) > CANDIDATES.length);
});

t.test('a trial loads what its setting changes', async (t) => {
  const weights = { small: 1, web: 2, camera: 1, cards: 0.5, big: 0.5 };
  const names = (candidate: Candidate, base: Candidate = {}, own = weights) =>
    stagesFor(suite.stages, { candidate, base, weights: own }).map(({ name }) => name);
  const usual = ['warm up', 'small', 'web', 'camera', 'cards', 'together'];
  t.same(names({ PROCESSES: '3' }), usual);
  t.same(names({ IMAGE_QUEUE: '16' }), [...usual, 'queue']);
  t.same(names({ PROCESSES: '3' }, { IMAGE_MEMORY_MEGABYTES: '64' }), [...usual, 'big']);
  t.same(names({}, {}, { ...weights, web: 0, small: 0, camera: 0 }), ['warm up', 'cards']);
});

t.test('the file gets what is recommended; what is not becomes a comment', async (t) => {
  const file = join(
    t.testdir({ 'darkroom.env': '# mine\nPROCESSES=1\nMONGODB_URL=mongodb://x\nIMAGE_THREADS=8\n' }),
    'darkroom.env',
  );
  // A run of all tests names its own MongoDB in the environment.
  const { MONGODB_URL } = process.env;
  t.teardown(() => {
    delete process.env.UV_THREADPOOL_SIZE;
    if (MONGODB_URL !== undefined) process.env.MONGODB_URL = MONGODB_URL;
  });
  delete process.env.MONGODB_URL;
  process.env.UV_THREADPOOL_SIZE = '1';
  const current = readCurrentSettings(file);
  t.same(current, {
    settings: { PROCESSES: '1', IMAGE_THREADS: '8', UV_THREADPOOL_SIZE: '1' },
    setByEnvironment: ['UV_THREADPOOL_SIZE'],
  });
  for (const name of ['PROCESSES', 'UV_THREADPOOL_SIZE', 'MONGODB_URL'])
    t.equal(process.env[name], undefined, `an instance of a trial does not have ${name}`);
  t.same(writeRecommended(current.settings, current, file), [], 'nothing to change');

  const said = writeRecommended({ IMAGE_THREADS: '2' }, current, file);
  t.equal(readFileSync(file, 'utf8'), '# mine\n# PROCESSES=1\nMONGODB_URL=mongodb://x\nIMAGE_THREADS=2\n');
  t.match(readFileSync(`${file}.before`, 'utf8'), /^# mine\nPROCESSES=1\n/);
  t.match(said.join('\n'), /PROCESSES is a comment now, IMAGE_THREADS=2/);
  t.match(said.join('\n'), /environment sets UV_THREADPOOL_SIZE=1, which wins over the file: take it out/);
});

t.test('the page has the figures, the cases, the weights and the host', async (t) => {
  const pair: [number, number] = [12.5, 13.5];
  const figures = [{ stage: 'web', case: 'web', perSecond: pair, p50: pair, p99: pair, cpuMsPerCall: pair }];
  const rounds = [
    { goodness: 1.1, cpu: 0.9 },
    { goodness: 1.2, cpu: 0.9 },
  ];
  const outcome: Recommendation = await search({
    candidates: [{ PROCESSES: '3' }],
    measure: async () => ({ rounds, figures }),
    hasTimeFor: () => true,
  });
  const page = tunePage({
    ...outcome,
    ...{ at: '2026-01-01T00:00:00.000Z', seconds: 60, host: hostFacts(), current: { PROCESSES: '1' } },
    ...{ weights: { web: 2 }, cases: { web: 'Pages <b> ask.' } },
  });
  t.match(page, '12.5 → 13.5');
  t.match(page, '<td>web</td><td class="number">2</td><td>Pages &lt;b>');
  t.match(page, /\d+ cores/);
  t.match(page, 'PROCESSES=1');
  for (const unit of ['requests/s', 'p99 ms', 'CPU ms a call']) t.match(page, unit);
});

t.test('the time of trials is known by what they take to begin and by their rounds', async (t) => {
  let nowMs = 0;
  const clock = new TrialClock(1_000, () => nowMs);
  t.ok(clock.hasTimeFor(1_000), 'nothing is known yet');
  const trial = (rounds: number) =>
    clock.timeTrial(rounds, async (onRound) => {
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
  t.equal(clock.roundsLeft(), 64);
  t.ok(clock.hasTimeFor(20, 30), '300 and 400 ms');
  t.notOk(clock.hasTimeFor(30, 24), 'two trials begin twice');
  t.equal(clock.leftMs(), 740);
});

t.test('candidates keep to the cores and the memory of the host', async (t) => {
  const keys = CANDIDATES.map(keyOf);
  t.notOk(keys.includes('PROCESSES=2'), 'one process per core is the default already');
  t.equal(new Set(keys).size, keys.length);
  const small = { cores: 8, memoryMegabytes: 2_000 };
  const tight = firstCandidates(small).flatMap(({ PROCESSES }) => PROCESSES ?? []);
  const isWithin = tight.every((count) => Number(count) <= 3);
  t.ok(isWithin, `2 GB are too little for ${tight.join(', ')} processes`);
  t.same(combineBest([{ A: '1' }, { A: '2' }, { B: '1' }]), [
    { A: '1', B: '1' },
    { A: '2', B: '1' },
  ]);
});
