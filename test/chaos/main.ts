import { parseArgs } from 'node:util';
import { startMongo } from '../../bench/services/mongodb.ts';
import { startPrivateRedis } from '../../bench/services/redis.ts';
import { randomFrom } from '../product/jobs/chain-runs.ts';
import { cancelRound } from './cancels.ts';
import { chainRound, randomRound } from './chains.ts';
import { POINTS } from './failpoints.ts';
import {
  type Fault,
  type KillWorld,
  killRound,
  killRoundAlone,
  openKillWorld,
  type Servers,
} from './kills/round.ts';
import { outageRound } from './outages/round.ts';
import { CLUSTER_OUTAGES, EMBEDDED_OUTAGES } from './outages/stores.ts';
import { Report, type RoundName, type SoakOptions, soak } from './report.ts';
import { round } from './rounds.ts';
import { startsRound } from './starts.ts';
import { checkStates } from './states.ts';

const USAGE = `npm run chaos -- [kind …] [--seeds N] [--from S] [--minutes M] [--stores S] [--report FILE]
npm run chaos -- starts [--starts N] [--replaces N] [--report FILE]
npm run chaos -- outages [seconds …] [--only NAME,…] [--items N] [--seeds N] [--from S] [--minutes M] [--report FILE]

  tables   random sequences of calls, deaths and time, compared with the state tables
  steps    a process dies at each named step of a job's life (test/chaos/failpoints.ts)
  chains   processes die between the segments of random chains; a seed stands for ten of them
  cancels  a job is cancelled at a random moment; a seed stands for ten of them
  kills    real services under load: kill -9 of processes and of whole hosts; on Redis and a MongoDB FLUSHALL and
           SIGSTOP past every lease as well, over two hosts
  clocks   kill -9 and SIGSTOP as in kills, over two hosts on Redis and a MongoDB whose clocks differ by 90 s: the second
           one is ahead in odd seeds, and behind in even ones
  outages  a real service whose stores go away, one per round, for a number of seconds (5 and 60; 600 is 10 minutes) amid
           a job of N small items (2000), chains, models and webhooks, all of which end at most a minute later
           than without an outage. --only names some of: redis-kill, redis-stop, mongo-cut, mongo-stop, bucket-kill,
           bucket-stop, objects-gone, objects-full, primary-stop (40 s at most)
  starts   a host starts N times (200) and replaces its processes N times (50) while another one's jobs wake it

Without a kind, all of them run. --seeds are the rounds of a kind, or of each step (3), --from the first of them (1).
--stores embedded, or --stores cluster, makes kills and outages on these stores only.
--minutes is how long a kind may go on. --report keeps what was found as JSON lines: a soak that was stopped goes on
behind it. With MONGODB_URL the documents of these lie on that server. Exits 1 when a promise was broken.`;

/** Number of sequences, or chains, for one seed of the other kinds. */
const ROUNDS_A_SEED = 10;
const ROUNDS_AT_ONCE = 3;
/** The most in a round of kills. */
const FAULTS = 4;
/** How fast time passes in rounds of kills on embedded stores. A faster start would count as one that hangs. */
const SPEED = 5;
const WORLDS_AT_ONCE = 2;
const ROUNDS_PER_WORLD = 25;
const ALONE: readonly Fault[] = ['process', 'process', 'host'];
const SHARED: readonly Fault[] = ['process', 'host', 'flush', 'freeze'];
/** Without a flush: rounds at the same time share their Redis. */
const SHIFTED: readonly Fault[] = ['process', 'process', 'host', 'host', 'freeze'];
const SHIFT_MS = 90_000;

/** Seconds of an outage, by default. */
const AWAY_SECONDS = ['5', '60'];

interface Soak {
  seeds: number[];
  mongodbUrl: string | undefined;
  options: SoakOptions;
}

const KINDS: Record<string, (soak: Soak) => Promise<void>> = {
  tables,
  steps,
  chains: small('chains', (seed, mongodbUrl) => chainRound(randomRound(seed, mongodbUrl))),
  cancels: small('cancels', cancelRound),
  kills,
  clocks,
  outages,
  starts,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean' },
    seeds: { type: 'string', default: '3' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    report: { type: 'string' },
    only: { type: 'string' },
    stores: { type: 'string' },
    items: { type: 'string', default: '2000' },
    starts: { type: 'string', default: '200' },
    replaces: { type: 'string', default: '50' },
  },
});
const isNumber = (arg: string) => /^\d+$/.test(arg);
const named = positionals.filter((arg) => !isNumber(arg));
const kinds = named.length > 0 ? named : Object.keys(KINDS);
if (values.help || kinds.some((kind) => KINDS[kind] === undefined)) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}
const report = new Report(values.report);
for (const kind of kinds) {
  const endsMs = performance.now() + Number(values.minutes) * 60_000;
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => Number(values.from) + index);
  const options = { report, atOnce: ROUNDS_AT_ONCE, endsMs };
  await KINDS[kind]?.({ seeds, mongodbUrl: process.env.MONGODB_URL, options });
}
report.print();
process.exit(report.broken === 0 ? 0 : 1);

/** Whether kills and outages are to run on these stores. */
function isChosen(stores: string): boolean {
  return values.stores === undefined || values.stores === stores;
}

function storesOf(mongodbUrl: string | undefined): string {
  return mongodbUrl === undefined ? 'embedded' : 'cluster';
}

async function tables({ seeds, mongodbUrl, options }: Soak): Promise<void> {
  const names = seeds.map((seed) => ({ kind: 'tables', stores: storesOf(mongodbUrl), point: '', seed }));
  await soak(
    names,
    async ({ seed }) => {
      const differs = (error: Error) => [`${error.stack}\n${(error.cause as Error)?.stack}`];
      return checkStates({ runs: ROUNDS_A_SEED, seed, mongodbUrl }).then(() => [], differs);
    },
    options,
  );
}

/** Every step once before any of them twice: a soak that is stopped has made as many rounds of each. */
async function steps({ seeds, mongodbUrl, options }: Soak): Promise<void> {
  const names = seeds.flatMap((seed) =>
    Object.keys(POINTS).map(
      (point): RoundName => ({ kind: 'steps', stores: storesOf(mongodbUrl), point, seed }),
    ),
  );
  await soak(names, ({ seed, point }) => round(seed, point, mongodbUrl), options);
}

/** Rounds that are short, so that several of them stand for a seed. */
function small(kind: string, run: (seed: number, mongodbUrl?: string) => Promise<string[]>) {
  return async ({ seeds, mongodbUrl, options }: Soak): Promise<void> => {
    const indexes = Array.from({ length: ROUNDS_A_SEED }, (_, index) => index);
    const names = seeds.flatMap((seed) =>
      indexes.map(
        (index): RoundName => ({
          ...{ kind, stores: storesOf(mongodbUrl), point: '' },
          seed: seed * ROUNDS_A_SEED + index,
        }),
      ),
    );
    await soak(names, ({ seed }) => run(seed, mongodbUrl), options);
  };
}

/** First on embedded stores, where time passes fast, then on its own servers, if they can be had. */
async function kills({ seeds, options }: Soak): Promise<void> {
  const names = (stores: string) => seeds.map((seed) => ({ kind: 'kills', stores, point: '', seed }));
  const idle: KillWorld[] = [];
  await soak(
    isChosen('embedded') ? names('embedded') : [],
    async ({ seed }) => {
      const world = idle.pop() ?? (await openKillWorld({ speed: SPEED }));
      let isWorn = true;
      try {
        const broken = await killRound(world, { seed, faults: faultsOf(seed, ALONE, 1 + (seed % FAULTS)) });
        isWorn = broken.length > 0 || world.rounds >= ROUNDS_PER_WORLD;
        if (!isWorn) idle.push(world);
        return broken;
      } finally {
        if (isWorn) await world.close();
      }
    },
    { ...options, atOnce: WORLDS_AT_ONCE },
  );
  for (const world of idle) await world.close();
  if (!isChosen('cluster')) return;
  await onServers(async (cluster) => {
    const run = ({ seed }: RoundName) => killRoundAlone({ seed, cluster, faults: faultsOf(seed, SHARED) });
    await soak(names('cluster'), run, { ...options, atOnce: 1 });
  });
}

/** Two hosts, one of them with a wrong clock, if their servers can be had. */
async function clocks({ seeds, options }: Soak): Promise<void> {
  const names = seeds.map((seed) => ({ kind: 'clocks', stores: 'cluster', point: '', seed }));
  await onServers(async (cluster) => {
    const run = ({ seed }: RoundName) => {
      const shiftMs = seed % 2 === 0 ? -SHIFT_MS : SHIFT_MS;
      return killRoundAlone({ seed, cluster, shiftMs, faults: faultsOf(seed, SHIFTED) });
    };
    await soak(names, run, options);
  });
}

async function onServers(use: (cluster: Servers) => Promise<void>): Promise<void> {
  const [redis, mongo] = await Promise.all([startPrivateRedis(), startMongo()]);
  if (redis !== null && mongo !== null) await use({ redisUrl: redis.url, mongodbUrl: mongo.url });
  await Promise.all([redis?.stop(), mongo?.stop()]);
}

/** Each store away for each length of time, on the embedded stores and on its own servers, if they can be had. */
async function outages({ seeds, options }: Soak): Promise<void> {
  const given = positionals.filter(isNumber);
  const lengths = (given.length > 0 ? given : AWAY_SECONDS).map(Number);
  const only = values.only?.split(',');
  const forms = { embedded: EMBEDDED_OUTAGES, cluster: CLUSTER_OUTAGES } as const;
  for (const form of (['embedded', 'cluster'] as const).filter(isChosen)) {
    const chosen = forms[form].filter((outage) => only?.includes(outage) ?? true);
    const names = seeds.flatMap((seed) =>
      lengths.flatMap((seconds) =>
        chosen.map((outage) => ({
          ...{ kind: 'outages', stores: form, point: `${outage} ${seconds} s` },
          ...{ seed, outage, seconds },
        })),
      ),
    );
    const items = Number(values.items);
    await soak(
      names,
      async ({ seed, outage, seconds }) =>
        (await outageRound({ seed, form, outage, seconds, items })) ?? ['its stores cannot run here'],
      { ...options, atOnce: 1 },
    );
  }
}

/** Starts of one host amid the wake-ups of another. */
async function starts({ options }: Soak): Promise<void> {
  const round = { starts: Number(values.starts), replaces: Number(values.replaces) };
  await soak(
    [{ kind: 'starts', stores: 'cluster', point: '', seed: 1 }],
    async () => (await startsRound(round)) ?? ['its stores cannot run here'],
    { ...options, atOnce: 1 },
  );
}

function faultsOf(seed: number, kinds: readonly Fault[], count = FAULTS): Fault[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => kinds[random(kinds.length)] as Fault);
}
