import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { envFile, saveSettings } from '../../config/env-file.ts';
import { loadSettingsFile } from '../../config/index.ts';
import { runRounds } from '../compare/rounds.ts';
import { startTarget } from '../load/target.ts';
import { hostFacts } from '../report/load-report.ts';
import { tunePage } from '../report/tune-page.ts';
import { writeResult } from '../results.ts';
import { hearSignals, unlessStopped } from '../stopping.ts';
import suite from '../suites/tune.ts';
import { type Candidate, firstCandidates, keyOf } from './candidates.ts';
import { goodnessOf, readWeights, type Weights } from './goodness.ts';
import { type Outcome, search, type Trial } from './search.ts';
import { createTrialClock } from './trial-clock.ts';

/**
 * `npm run tune`: finds the pool settings for THIS host, compared with the default in interleaved rounds. It writes
 * darkroom.env, and the numbers with a page of plots to bench/results/.
 */
const TUNED = [
  'PROCESSES',
  'IMAGE_THREADS',
  'RENDER_THREADS',
  'UV_THREADPOOL_SIZE',
  'IMAGE_MEMORY_MEGABYTES',
  'IMAGE_QUEUE',
] as const;
const USUAL_WEIGHTS: Weights = { small: 1, web: 2, camera: 1, cards: 0.5 };
const DEFAULT_MINUTES = 15;
const MEGABYTE = 1024 * 1024;

const HELP = `npm run tune [-- --images DIR] [--mix small=1,web=2,camera=1,cards=0.5] [--minutes 15] [--out darkroom.env]

Tries settings of processes, threads, memory and queues beside the default, and recommends only what it showed to be better.
Settings of your environment (${TUNED.join(', ')}) are tried first, as one.`;

const stopping = hearSignals();
try {
  await unlessStopped(main(), stopping.signal);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
process.exit(stopping.exitCode() || process.exitCode);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      images: { type: 'string', default: '' },
      mix: { type: 'string', default: '' },
      minutes: { type: 'string', default: String(DEFAULT_MINUTES) },
      out: { type: 'string', default: envFile() },
    },
  });
  if (values.help) return console.log(HELP);
  const weights = readWeights(values.mix, USUAL_WEIGHTS);
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes is "${values.minutes}", but a number above 0 is expected.`);
  const startMs = performance.now();
  loadSettingsFile(values.out);
  const current = currentSettings();
  const clock = createTrialClock(minutes * 60_000, () => performance.now());
  const outcome = await search({
    candidates: firstCandidates(hostLimits(), current),
    current,
    measure: (candidate, rounds) =>
      clock.time(rounds, (onRound) => ratios(candidate, { rounds, weights, folder: values.images, onRound })),
    hasTimeFor: clock.hasTimeFor,
    onTrial: (trial) => console.log(sentenceOf(trial)),
  });
  await leave(outcome, { startMs, current, weights, out: values.out });
}

/** Cores and memory that this process may use, within its cgroup's limits. */
function hostLimits() {
  const constrained = process.constrainedMemory();
  const bytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { cores: availableParallelism(), memoryMegabytes: Math.floor(bytes / MEGABYTE) };
}

function currentSettings(): Candidate {
  return Object.fromEntries(
    TUNED.flatMap((name) => {
      const value = process.env[name];
      // Settings are removed from the environment, so that the default really is the default.
      delete process.env[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

/** Goodness of a candidate relative to the default, one number per round in which both have figures. */
async function ratios(
  candidate: Candidate,
  {
    rounds,
    weights,
    folder,
    onRound,
  }: { rounds: number; weights: Weights; folder: string; onRound: () => void },
): Promise<number[]> {
  // Both servers are new, because one that has run for minutes is faster than one that has just started.
  const a = await startTarget(suite.settings ?? {});
  try {
    const b = await startTarget({ ...suite.settings, ...candidate });
    try {
      const suiteFile = join(import.meta.dirname, '../suites/tune.ts');
      const weighed = suite.stages.filter(
        (stage) =>
          stage.loop === 'closed' && Object.keys(stage.connections).some((name) => (weights[name] ?? 0) > 0),
      );
      const done = await runRounds({
        suite: { ...suite, stages: weighed },
        suiteFile,
        picturesFolder: folder,
        a,
        b,
        rounds,
        onRound,
      });
      return done.flatMap((round) => goodnessOf(round, weights) ?? []);
    } finally {
      await b.stop();
    }
  } finally {
    await a.stop();
  }
}

function sentenceOf({ candidate, rounds, difference }: Trial): string {
  const name = Object.keys(candidate).length === 0 ? 'the default beside itself' : keyOf(candidate);
  if (difference === null) return `${name}: no figure in ${rounds} rounds`;
  const { ratio, low, high } = difference;
  return `${name}: ${ratio.toFixed(3)} of the default (${low.toFixed(3)} to ${high.toFixed(3)}) in ${rounds} rounds`;
}

async function leave(
  outcome: Outcome,
  context: { startMs: number; current: Candidate; weights: Weights; out: string },
): Promise<void> {
  const seconds = Math.round((performance.now() - context.startMs) / 1000);
  const { current, weights, out } = context;
  const result = {
    suite: 'tune',
    at: new Date().toISOString(),
    host: hostFacts(),
    seconds,
    current,
    weights,
    ...outcome,
  };
  console.log(`\n${outcome.reason} (${Math.floor(seconds / 60)} min ${seconds % 60} s)`);
  if (Object.keys(outcome.recommended).length > 0) {
    saveSettings(outcome.recommended, { path: out, keepsBefore: true });
    console.log(`→ ${out} (as it was before: ${out}.before)`);
  }
  await writeResult('tune', { result, html: tunePage(result) });
}
