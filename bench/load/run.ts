import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { cpuMs } from '../cpu.ts';
import type { LoaderAnswer, LoaderRequest } from './loader.ts';
import type { StageProgress, StageResult } from './stage.ts';
import type { LoadSuite, OpenStage, Rate, Stage } from './suite.ts';
import type { LoadTarget } from './target.ts';
import { type InstanceSample, watchInstance } from './watch.ts';

/** The range of a stage within the samples, in seconds since the watch began. */
interface StageSpan {
  name: string;
  from: number;
  to: number;
}

export interface LoadResult {
  /** A phrase about each picture that the calls sent. */
  pictures: string[];
  stages: StageResult[];
  spans: StageSpan[];
  samples: InstanceSample[];
  /**
   * Whether the run was stopped. The last stage is then shorter than the suite asks for, and later ones were not run.
   */
  isStopped: boolean;
}

interface RunOptions {
  suite: LoadSuite;
  /** The suite's own module, which the loading process imports. */
  suiteFile: string;
  /** The folder of the pictures; empty for the built-in ones, which every machine has. */
  picturesFolder: string;
  target: LoadTarget;
  /** Stops the run, which then returns its results so far. */
  signal?: AbortSignal;
  onProgress?: (stage: string, progress: StageProgress) => void;
}

/** Runs all stages of a suite on an instance, in sequence, from a separate process. */
export async function runLoad(options: RunOptions): Promise<LoadResult> {
  const { suite, target, signal, onProgress } = options;
  using loader = await openLoader(options);
  const watching = watchInstance(target.url, target.pid);
  const stages: StageResult[] = [];
  const spans: StageSpan[] = [];
  for (const stage of suite.stages) {
    if (signal?.aborted) break;
    const from = watching.seconds();
    const rates = stage.loop === 'open' ? resolveRates(stage, stages) : {};
    stages.push(
      await loader.run(stage, { rates, onProgress: (progress) => onProgress?.(stage.name, progress) }),
    );
    spans.push({ name: stage.name, from, to: watching.seconds() });
  }
  const samples = watching.stop();
  const isMeasured = (name: string) => suite.stages.find((stage) => stage.name === name)?.isWarmUp !== true;
  const isStopped = signal?.aborted === true;
  const { pictures } = loader;
  return { pictures, stages: stages.filter(({ name }) => isMeasured(name)), spans, samples, isStopped };
}

interface StageRun {
  /** Rate by case, for an open stage. */
  rates: Record<string, Rate>;
  /** The number of the round, from 0; 0 in a run without rounds. */
  round?: number;
  onProgress?: (progress: StageProgress) => void;
}

/** A loading process that has prepared the cases of a suite. A stage ends early when the run is stopped. */
export interface Loader extends Disposable {
  /** A phrase about each picture that the calls send. */
  pictures: string[];
  run(stage: Stage, options: StageRun): Promise<StageResult>;
}

/** @throws Error when a case cannot be prepared, with its reason. */
export async function openLoader(
  options: Pick<RunOptions, 'suiteFile' | 'picturesFolder' | 'target' | 'signal'>,
): Promise<Loader> {
  const { suiteFile, picturesFolder, target, signal } = options;
  // The process is detached, so that a signal of the terminal reaches only this process, which decides how the stage
  // ends.
  const child = fork(join(import.meta.dirname, 'loader.ts'), { detached: true });
  const { url, keys, pid } = target;
  let pictures: string[] = [];
  try {
    const answer = await ask(child, { kind: 'prepare', suiteFile, picturesFolder, url, keys });
    if (answer.kind === 'prepared') pictures = answer.pictures;
  } catch (error) {
    child.kill();
    throw error;
  }
  const stopStage = () => child.connected && child.send({ kind: 'stop' } satisfies LoaderRequest);
  signal?.addEventListener('abort', stopStage);
  return {
    pictures,
    async run(stage, { rates, round = 0, onProgress }) {
      const beforeMs = pid === null ? 0 : cpuMs(pid);
      const answer = await ask(child, { kind: 'stage', stage, rates, round }, onProgress);
      if (answer.kind !== 'done') throw new Error('The loader did not answer a stage with its result.');
      return pid === null ? answer.result : { ...answer.result, instanceCpuMs: cpuMs(pid) - beforeMs };
    },
    [Symbol.dispose]() {
      signal?.removeEventListener('abort', stopStage);
      child.kill();
    },
  };
}

function ask(
  child: ChildProcess,
  request: LoaderRequest,
  onProgress?: (progress: StageProgress) => void,
): Promise<LoaderAnswer> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`The loading process ended with ${code}.`));
    const onMessage = (answer: LoaderAnswer) => {
      if (answer.kind === 'progress') return onProgress?.(answer.progress);
      child.off('message', onMessage);
      child.off('exit', onExit);
      if (answer.kind === 'failed') reject(new Error(answer.message));
      else resolve(answer);
    };
    child.on('message', onMessage);
    child.once('exit', onExit);
    child.send(request);
  });
}

/**
 * The rates of an open stage: as given, or as a multiple of a case's rate in an earlier stage.
 * @throws Error when that stage did not measure the case.
 */
export function resolveRates(stage: OpenStage, earlier: readonly StageResult[]): Record<string, Rate> {
  return Object.fromEntries(
    Object.entries(stage.perSecond).map(([name, rate]) => {
      if (typeof rate === 'number' || !('times' in rate)) return [name, rate];
      const reached = earlier.find((one) => one.name === rate.stage)?.cases[name]?.perSecond;
      if (reached === undefined)
        throw new Error(
          `The stage ${stage.name} needs ${name} of the stage ${rate.stage}, which did not measure it.`,
        );
      return [name, Math.max(1, reached * rate.times)];
    }),
  );
}

/** The stages of both sides in one round. */
export interface Round {
  a: StageResult[];
  b: StageResult[];
}

interface RoundsOptions extends Omit<RunOptions, 'target' | 'onProgress'> {
  a: LoadTarget;
  b: LoadTarget;
  rounds: number;
  /** Called with the number of a complete round, from 1 on. */
  onRound?: (number: number, round: Round) => void;
}

/**
 * Runs a suite on two instances in turn, A B, B A, A B …, so that changes in the machine's speed affect both. Warm-up
 * stages are run once, before the first round. If the rate of an open stage is a multiple of an earlier result, A's
 * result in the round decides the rate on both sides. Within a round, both sides get the same arrivals. Each round has
 * different ones.
 * @returns the complete rounds, also if the run is stopped.
 */
export async function runRounds(options: RoundsOptions): Promise<Round[]> {
  const { suite, rounds, signal, onRound } = options;
  using a = await openLoader({ ...options, target: options.a });
  using b = await openLoader({ ...options, target: options.b });
  const loaders = { a, b };
  const done: Round[] = [];
  const isStopped = () => signal?.aborted === true;
  const rates = (stage: Stage, earlier: StageResult[]) =>
    stage.loop === 'open' ? resolveRates(stage, [...earlier, ...(done[0]?.a ?? [])]) : {};
  for (const stage of suite.stages.filter(({ isWarmUp }) => isWarmUp))
    for (const side of ['a', 'b'] as const)
      if (!isStopped()) await loaders[side].run(stage, { rates: rates(stage, []) });
  for (let index = 0; index < rounds && !isStopped(); index += 1) {
    const round: Round = { a: [], b: [] };
    for (const stage of suite.stages.filter(({ isWarmUp }) => !isWarmUp)) {
      const run = { rates: rates(stage, round.a), round: index };
      for (const side of index % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const))
        if (!isStopped()) round[side].push(await loaders[side].run(stage, run));
    }
    if (isStopped()) break;
    done.push(round);
    onRound?.(index + 1, round);
  }
  return done;
}
