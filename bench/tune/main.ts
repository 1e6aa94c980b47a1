import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { envFile } from '../../config/env-file.ts';
import { defaultProcessCount, usableMemoryBytes } from '../../src/platform/concurrency/control-group.ts';
import { MEGABYTE_BYTES, MINUTE_MS } from '../../src/platform/values/units.ts';
import { type Round, runRounds } from '../load/run.ts';
import { startTarget } from '../load/target.ts';
import { commandLine } from '../options.ts';
import { hostFacts } from '../report/load-report.ts';
import { tunePage } from '../report/tune-page.ts';
import { makeWritableFolder, RESULTS_FOLDER, writeResult } from '../results.ts';
import { stopOnSignals, unlessStopped } from '../stopping.ts';
import suite from '../suites/tune.ts';
import type { RoundRatios } from './evidence.ts';
import { figuresOf, ratiosOf, readWeights, type Weights } from './goodness.ts';
import { powerAfter, powerBefore, roundSentence, stagesFor } from './power.ts';
import {
  type CandidateTrial,
  type Recommendation,
  search,
  type TrialMeasurement,
  type TrialProgress,
} from './search.ts';
import {
  type Candidate,
  type CurrentSettings,
  firstCandidates,
  keyOf,
  readCurrentSettings,
  TUNED_SETTINGS,
  writeRecommended,
} from './settings.ts';
import { TrialClock } from './trial-clock.ts';

/**
 * `npm run tune`: finds the pool settings for THIS host, compared with the default in interleaved rounds. It merges
 * them into darkroom.env, and writes the numbers with a page of plots to bench/results/.
 */
const USUAL_WEIGHTS: Weights = { small: 1, web: 2, camera: 1, cards: 0.5, big: 0.5 };
const DEFAULT_MINUTES = 15;

const HELP = `npm run tune [-- --images DIR] [--mix small=1,web=2,camera=1,cards=0.5,big=0.5] [--minutes 15] [--env-file darkroom.env] [--out DIR]

Tries settings of processes, threads, memory and queues against the default, and recommends only what it showed to be better.
Settings of your environment and of the file (${TUNED_SETTINGS.join(', ')}) are measured as one; where they are worse than the
default, the answer is to go back to it. Merges the answer into the file (ENV_FILE), which is kept as NAME.before.
Before it begins, it says which difference it can show in that time.`;

const stopping = stopOnSignals();
try {
  await main();
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
      'env-file': { type: 'string', default: envFile() },
      out: { type: 'string', default: '' },
    },
  });
  if (values.help) return console.log(HELP);
  const weights = readWeights(values.mix, USUAL_WEIGHTS);
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes is "${values.minutes}", but a number above 0 is expected.`);
  const startMs = performance.now();
  makeWritableFolder(values.out || RESULTS_FOLDER, '--out');
  makeWritableFolder(dirname(resolve(values['env-file'])), '--env-file');
  const current = readCurrentSettings(values['env-file']);
  const clock = new TrialClock(minutes * MINUTE_MS, () => performance.now());
  console.log(powerBefore(minutes * MINUTE_MS, weights));
  const outcome = await search({
    candidates: firstCandidates(hostLimits()),
    current: current.settings,
    measure: (candidate, base, rounds) =>
      clock.timeTrial(rounds, (onRound) =>
        measureTrial({
          ...{ candidate, base, rounds, weights, folder: values.images },
          onRound(number, ratios) {
            onRound();
            console.log(`  ${roundSentence(number, rounds, ratios)}`);
          },
        }),
      ),
    hasTimeFor: (...trials) => !stopping.signal.aborted && clock.hasTimeFor(...trials),
    onTrial(trial, progress) {
      console.log(sentenceOf(trial, progress, clock.leftMs()));
      if (progress.number === 1) console.log(powerAfter(trial, clock.roundsLeft()));
    },
  });
  await reportOutcome(outcome, { startMs, current, weights, file: values['env-file'], folder: values.out });
}

/** Whole cores and memory that this process may use, within the limits of its control group. */
function hostLimits() {
  return { cores: defaultProcessCount(), memoryMegabytes: Math.floor(usableMemoryBytes() / MEGABYTE_BYTES) };
}

interface TrialOptions {
  candidate: Candidate;
  base: Candidate;
  rounds: number;
  weights: Weights;
  /** Folder of the operator's pictures; empty: the built-in ones. */
  folder: string;
  onRound: (number: number, ratios: RoundRatios) => void;
}

/** Measures a candidate against a base. A trial that is stopped returns its complete rounds. */
async function measureTrial(options: TrialOptions): Promise<TrialMeasurement> {
  try {
    return await runTrial(options);
  } catch (error) {
    if (stopping.signal.aborted) return { rounds: [], figures: [] };
    throw error;
  }
}

async function runTrial({
  candidate,
  base,
  rounds,
  weights,
  folder,
  onRound,
}: TrialOptions): Promise<TrialMeasurement> {
  const { signal } = stopping;
  const suiteFile = join(import.meta.dirname, '../suites/tune.ts');
  const stages = stagesFor(suite.stages, { candidate, base, weights });
  // Both servers are new, because one that has run for minutes is faster than one that has just started.
  await using a = await unlessStopped(startTarget({ ...suite.settings, ...base }), signal);
  await using b = await unlessStopped(startTarget({ ...suite.settings, ...candidate }), signal);
  const work = {
    ...{ suite: { ...suite, stages }, suiteFile, picturesFolder: folder, a, b, rounds },
    onRound: (number: number, round: Round) => onRound(number, ratiosOf(round, weights)),
  };
  const done = await runRounds({ ...work, signal });
  return { rounds: done.map((round) => ratiosOf(round, weights)), figures: figuresOf(done) };
}

/**
 * A line such as `3 of 11, 7 min left: IMAGE_THREADS=2 against the default: 1.03 (0.98 to 1.08), CPU 0.99, in 2
 * rounds`.
 */
function sentenceOf(
  { candidate, base, rounds, goodness, cpu }: CandidateTrial,
  progress: TrialProgress,
  leftMs: number,
) {
  const name = `${keyOf(candidate)} against ${keyOf(base)}`;
  const figures =
    goodness === null
      ? 'no figure'
      : `${goodness.ratio.toFixed(3)} (${goodness.low.toFixed(3)} to ${goodness.high.toFixed(3)})`;
  const cost = cpu === null ? '' : `, CPU ${cpu.ratio.toFixed(3)}`;
  const left = `${progress.number} of ${progress.of}, ${Math.ceil(leftMs / MINUTE_MS)} min left`;
  return `${left}: ${name}: ${figures}${cost}, in ${rounds} rounds`;
}

async function reportOutcome(
  outcome: Recommendation,
  context: { startMs: number; current: CurrentSettings; weights: Weights; file: string; folder: string },
): Promise<void> {
  const seconds = Math.round((performance.now() - context.startMs) / 1000);
  const { current, weights, file, folder } = context;
  const isStopped = stopping.signal.aborted;
  const reason = isStopped ? `Stopped, and so nothing is changed. ${outcome.reason}` : outcome.reason;
  const host = hostFacts();
  const at = new Date().toISOString();
  const about = Object.fromEntries(
    Object.entries(suite.cases).map(([name, { description }]) => [name, description]),
  );
  const result = {
    suite: 'tune',
    at,
    command: commandLine('npm run tune', process.argv.slice(2)),
    host,
    seconds,
    current: current.settings,
    weights,
    cases: about,
    ...outcome,
    reason,
  };
  console.log(`\n${reason} (${Math.floor(seconds / 60)} min ${seconds % 60} s)`);
  await writeResult('tune', { result, html: tunePage(result), folder });
  if (isStopped || !outcome.isChange) return;
  for (const line of writeRecommended(outcome.recommended, current, file)) console.log(line);
}
