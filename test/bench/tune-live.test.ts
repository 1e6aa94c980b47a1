// needs: nothing
import t from 'tap';
import { liveConclusion, type MinutePair, worsening } from '../../bench/tune/live/judge.ts';
import { type Minute, minuteOf, type Reading, readingOf } from '../../bench/tune/live/reading.ts';
import { LiveStopped, tuneLive } from '../../bench/tune/live/tune-live.ts';
import { type LiveSettings, valuesOf } from '../../bench/tune/live/values.ts';
import { seeded } from '../../workers/models/random.ts';

const DEFAULTS: LiveSettings = { PROCESSES: 2, IMAGE_THREADS: 1, RENDER_THREADS: 1, IMAGE_QUEUE: 64 };
const MINUTE: Minute = {
  ...{ seconds: 60, right: 1_000, refused: 0, renders: 0, perSecond: 16.7 },
  ...{ rightShare: 1, p99Ms: 200, cpuMsPerCall: 50 },
};

interface Truth {
  /** The p99 in milliseconds. */
  p99: (settings: LiveSettings) => number;
  cpuMs?: (settings: LiveSettings) => number;
  refusedShare?: (settings: LiveSettings) => number;
  perSecond?: number;
  renders?: number;
  seed?: number;
}

/** A service under a steady load, whose clock moves as one waits. */
function simulated(initial: LiveSettings, truth: Truth) {
  const { p99, cpuMs = () => 50, refusedShare = () => 0, perSecond = 20, renders = 0, seed = 1 } = truth;
  const random = seeded(seed);
  const inForce = { ...initial };
  const sets: string[] = [];
  let nowMs = 0;
  let totals = { right: 0, refused: 0, cpuSeconds: 0 };
  const buckets = new Map<number, number>();
  const waits: Array<{ settings: LiveSettings; ms: number }> = [];
  return {
    inForce,
    sets,
    waits,
    now: () => nowMs,
    service: {
      async set(name: keyof LiveSettings, value: number) {
        sets.push(`${name}=${value}`);
        inForce[name] = value;
      },
      async read(): Promise<Reading> {
        const cumulative: Array<readonly [number, number]> = [];
        for (const [bound, calls] of [...buckets].sort(([a], [b]) => a - b))
          cumulative.push([bound, (cumulative.at(-1)?.[1] ?? 0) + calls]);
        return { atMs: nowMs, ...totals, renders: renders > 0 ? totals.right : 0, buckets: cumulative };
      },
    },
    async sleep(ms: number) {
      nowMs += ms;
      waits.push({ settings: { ...inForce }, ms });
      const calls = (perSecond * ms) / 1000;
      const refused = calls * refusedShare(inForce);
      const noisy = (value: number) => value * (1 + (random() - 0.5) * 0.1);
      totals = {
        right: totals.right + calls - refused,
        refused: totals.refused + refused,
        cpuSeconds: totals.cpuSeconds + ((calls - refused) * noisy(cpuMs(inForce))) / 1000,
      };
      // All calls of one wait are as slow: their bucket ends there.
      const bound = Math.round(noisy(p99(inForce))) / 1000;
      buckets.set(bound, (buckets.get(bound) ?? 0) + calls - refused);
    },
  };
}

function run(initial: LiveSettings, host: ReturnType<typeof simulated>, hasTime = () => true) {
  const { service, sleep } = host;
  const rest = { cores: 2, eachMs: 60_000, pairs: 5, hasTime };
  return tuneLive({ service, sleep, initial, defaults: DEFAULTS, ...rest });
}

t.test('a bad setting is found, and what was in force is in force again', async (t) => {
  for (const seed of [1, 2, 3]) {
    const initial = { PROCESSES: 1, IMAGE_THREADS: 1, RENDER_THREADS: 1, IMAGE_QUEUE: 64 };
    const host = simulated(initial, { p99: ({ PROCESSES }) => (PROCESSES === 1 ? 400 : 200), seed });
    const { recommended, trials, skipped, ended } = await run(initial, host);
    t.equal(recommended.PROCESSES, 2, `seed ${seed}`);
    t.equal(trials[0]?.conclusion, 'better');
    t.equal(trials[0]?.pairs.length, 5);
    t.same(host.inForce, initial);
    t.equal(ended, null);
    t.match(skipped, ['RENDER_THREADS was not tried, because no call was a render.']);
  }
});

t.test('a queue that is too short is found by its refusals', async (t) => {
  const initial = { ...DEFAULTS, IMAGE_QUEUE: 1 };
  const host = simulated(initial, {
    p99: () => 200,
    refusedShare: ({ IMAGE_QUEUE }) => (IMAGE_QUEUE === 1 ? 0.2 : 0),
  });
  const { recommended } = await run(initial, host);
  t.same(recommended, DEFAULTS);
  t.same(host.inForce, initial);
});

t.test('alternate minutes have the kept value and the candidate', async (t) => {
  const host = simulated(DEFAULTS, { p99: () => 200 });
  const { trials, recommended } = await run(DEFAULTS, host);
  t.same(recommended, DEFAULTS, 'noise recommends nothing');
  t.same(host.sets.slice(0, 4), ['PROCESSES=4', 'PROCESSES=2', 'PROCESSES=4', 'PROCESSES=2']);
  t.ok(trials.every(({ conclusion }) => conclusion === 'open'));
});

t.test('a value under which p99 or refusals worsen is given up within seconds', async (t) => {
  const bad = ({ IMAGE_THREADS }: LiveSettings) => IMAGE_THREADS === 2;
  for (const [truth, reason] of [
    [{ p99: (one: LiveSettings) => (bad(one) ? 900 : 200) }, /p99 rose to/],
    [
      { p99: () => 200, refusedShare: (one: LiveSettings) => (bad(one) ? 0.5 : 0) },
      /50 % of the calls were refused/,
    ],
  ] as const) {
    const host = simulated(DEFAULTS, truth);
    const { trials } = await run(DEFAULTS, host);
    const trial = trials.find(({ name, to }) => name === 'IMAGE_THREADS' && to === 2);
    t.equal(trial?.conclusion, 'worse');
    t.match(trial?.gaveUp, reason);
    t.equal(trial?.pairs.length, 1);
    const spentMs = host.waits.filter(({ settings }) => bad(settings)).reduce((sum, { ms }) => sum + ms, 0);
    t.ok(spentMs <= 15_000, `${spentMs} ms in force`);
  }
});

t.test('a value with too few threads for the traffic is not tried', async (t) => {
  for (const [perSecond, isTried] of [
    [20, false],
    [5, true],
  ] as const) {
    const host = simulated(DEFAULTS, { p99: () => 200, perSecond });
    const { skipped } = await run(DEFAULTS, host);
    t.equal(host.sets.includes('PROCESSES=1'), isTried, `${perSecond} calls per second of 50 ms of CPU`);
    const sentence = 'PROCESSES=1 was not tried, because the calls need more threads.';
    t.equal(skipped.includes(sentence), !isTried);
    t.ok(host.sets.includes('PROCESSES=4'), 'more threads are always tried');
  }
});

t.test('a run that is stopped, or whose service fails, puts back what was in force', async (t) => {
  const stopped = simulated(DEFAULTS, { p99: () => 200 });
  const { sleep } = stopped;
  stopped.sleep = async (ms) => {
    if (stopped.inForce.PROCESSES === 4 && stopped.now() > 100_000) throw new LiveStopped('Stopped.');
    await sleep(ms);
  };
  const { ended, trials } = await run(DEFAULTS, stopped);
  t.same([ended, trials], ['Stopped.', []]);
  t.same(stopped.inForce, DEFAULTS);
  t.equal(stopped.sets.at(-1), 'PROCESSES=2');

  const failing = simulated(DEFAULTS, { p99: () => 200 });
  const { set } = failing.service;
  failing.service.set = async (name, value) => {
    await set(name, value);
    if (value === 4) throw new Error('No answer came.');
  };
  await t.rejects(run(DEFAULTS, failing), { message: 'No answer came.' });
  t.same(failing.inForce, DEFAULTS, 'it may have been in force');
});

t.test('too little traffic is refused, and the time is kept', async (t) => {
  const idle = simulated(DEFAULTS, { p99: () => 200, perSecond: 0.1 });
  await t.rejects(run(DEFAULTS, idle), {
    message: /answered [\d.]+ image calls in 5\d s: too little traffic/,
  });
  t.same(idle.sets, []);
  const short = simulated(DEFAULTS, { p99: () => 200 });
  const { ended, trials } = await run(DEFAULTS, short, () => short.now() < 120_000);
  t.same([trials.length, ended], [1, 'The time was over.']);
});

t.test('the values keep to the cores, and the default is one of them', async (t) => {
  const kept = { PROCESSES: 1, IMAGE_THREADS: 8, RENDER_THREADS: 1, IMAGE_QUEUE: 64 };
  const at = { kept, defaults: DEFAULTS, cores: 2 };
  t.same(valuesOf('IMAGE_THREADS', at), [1, 4]);
  t.same(valuesOf('PROCESSES', at), [], '2 × 8 threads are too many');
  t.same(valuesOf('PROCESSES', { ...at, kept: DEFAULTS }), [4, 1]);
  t.same(valuesOf('IMAGE_QUEUE', { ...at, kept: DEFAULTS }), []);
  t.same(valuesOf('IMAGE_QUEUE', { ...at, kept: { ...DEFAULTS, IMAGE_QUEUE: 1 } }), [64]);
});

t.test('a conclusion needs a change that is shown, and nothing that is worse', async (t) => {
  const pairs = (change: Partial<Minute>, other: Partial<Minute> = {}): MinutePair[] =>
    [0.99, 1, 1.01, 1, 1].map((factor) => {
      const candidate = { ...MINUTE, ...change, ...other };
      return { base: MINUTE, candidate: { ...candidate, p99Ms: (candidate.p99Ms ?? 0) * factor } };
    });
  t.equal(liveConclusion(pairs({ p99Ms: 100 })), 'better');
  t.equal(liveConclusion(pairs({ p99Ms: 300 })), 'worse');
  t.equal(liveConclusion(pairs({ p99Ms: 195 })), 'open', 'nobody feels 3 %');
  t.equal(liveConclusion(pairs({ cpuMsPerCall: 40 })), 'better');
  t.equal(liveConclusion(pairs({ cpuMsPerCall: 60 })), 'worse');
  t.equal(liveConclusion(pairs({ p99Ms: 100 }, { cpuMsPerCall: 60 })), 'open', 'faster, but dearer');
  t.equal(liveConclusion(pairs({ rightShare: 0.8 })), 'worse');
  t.equal(liveConclusion([]), 'open');
  t.equal(worsening({ ...MINUTE, right: 10, p99Ms: 900 }, [MINUTE]), null, 'too few calls for a p99');
  t.equal(worsening({ ...MINUTE, p99Ms: 390 }, [MINUTE]), null);
  t.equal(worsening({ ...MINUTE, refused: 4, rightShare: 0.9 }, [MINUTE]), null);
});

t.test(
  "minutes come from the service's own metrics: image calls alone, all processes together",
  async (t) => {
    const metrics = (calls: number, refused: number, cpu: number) => {
      const labels = (route: string, status: number) => `method="POST",route="${route}",status="${status}"`;
      const route = '/api/v1/images/transform';
      const name = 'darkroom_request_duration_seconds';
      return [
        `# TYPE ${name} histogram`,
        `${name}_bucket{le="0.1",${labels(route, 200)}} ${calls / 2}`,
        `${name}_bucket{le="0.25",${labels(route, 200)}} ${calls}`,
        `${name}_bucket{le="+Inf",${labels(route, 200)}} ${calls}`,
        `${name}_count{${labels(route, 200)}} ${calls}`,
        `${name}_count{${labels(route, 503)}} ${refused}`,
        `${name}_count{${labels('/api/v1/images/render', 400)}} 7`,
        `${name}_count{${labels('/api/v1/account', 200)}} 99999`,
        `process_cpu_seconds_total ${cpu}`,
      ].join('\n');
    };
    const minute = minuteOf(readingOf(metrics(100, 5, 2), 1_000), readingOf(metrics(300, 25, 12), 11_000));
    t.match(minute, { seconds: 10, right: 200, refused: 20, perSecond: 20, cpuMsPerCall: 50, renders: 0 });
    t.equal(minute.rightShare?.toFixed(3), '0.909');
    t.equal(minute.p99Ms, 247);
    const none = minuteOf(readingOf(metrics(0, 0, 1), 0), readingOf(metrics(0, 0, 2), 1_000));
    t.match(none, { p99Ms: null, cpuMsPerCall: null, rightShare: null });
    t.throws(() => readingOf('# nothing', 0), /no metrics of Darkroom/);
  },
);
