import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoaderAnswer, LoaderQuestion } from './loader.ts';
import type { Second, StageResult } from './stage.ts';
import type { LoadSuite, OpenStage, Stage } from './suite.ts';
import type { Target } from './target.ts';
import { type Sample, watch } from './watch.ts';

/** The range of a stage within the samples, in seconds since the watch began. */
export interface Span {
  name: string;
  from: number;
  to: number;
}

export interface LoadResult {
  stages: StageResult[];
  spans: Span[];
  samples: Sample[];
  /** The run was stopped: the last stage is shorter than the suite says, and later ones were not run. */
  isStopped: boolean;
}

export interface RunOptions {
  suite: LoadSuite;
  /** The suite's own module, which the loading process imports. */
  suiteFile: string;
  /** Empty: the built-in pictures that every machine has. */
  picturesFolder: string;
  target: Target;
  /** Stops the run, which then answers with its results so far. */
  signal?: AbortSignal;
  onSecond?: (stage: string, second: Second) => void;
}

/** Runs all stages of a suite on an instance, in sequence, from a separate process. */
export async function runLoad(options: RunOptions): Promise<LoadResult> {
  const { suite, target, signal, onSecond } = options;
  const loader = await openLoader(options);
  const stop = () => loader.stopStage();
  signal?.addEventListener('abort', stop);
  const watching = watch(target.url, target.pid);
  const stages: StageResult[] = [];
  const spans: Span[] = [];
  try {
    for (const stage of suite.stages) {
      if (signal?.aborted) break;
      const from = watching.seconds();
      const rates = stage.loop === 'open' ? ratesOf(stage, stages) : {};
      stages.push(await loader.run(stage, rates, (second) => onSecond?.(stage.name, second)));
      spans.push({ name: stage.name, from, to: watching.seconds() });
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    loader.stop();
  }
  const samples = watching.stop();
  const isShown = (name: string) => suite.stages.find((stage) => stage.name === name)?.isWarmUp !== true;
  const isStopped = signal?.aborted === true;
  return { stages: stages.filter(({ name }) => isShown(name)), spans, samples, isStopped };
}

/** A loading process that has prepared the cases of a suite. */
export interface Loader {
  run(stage: Stage, rates: Record<string, number>, onSecond: (second: Second) => void): Promise<StageResult>;
  /** Ends the current stage now; it answers with its results so far. */
  stopStage(): void;
  stop(): void;
}

/** @throws Error when a case cannot be prepared, with its reason. */
export async function openLoader({ suiteFile, picturesFolder, target }: RunOptions): Promise<Loader> {
  const child = fork(join(import.meta.dirname, 'loader.ts'));
  const { url, key } = target;
  try {
    await ask(child, { kind: 'prepare', suiteFile, picturesFolder, url, key }, () => undefined);
  } catch (error) {
    child.kill();
    throw error;
  }
  return {
    async run(stage, rates, onSecond) {
      const answer = await ask(child, { kind: 'stage', stage, rates }, onSecond);
      if (answer.kind !== 'done') throw new Error('The loader did not answer a stage with its result.');
      return answer.result;
    },
    stopStage: () => child.connected && child.send({ kind: 'stop' } satisfies LoaderQuestion),
    stop: () => child.kill(),
  };
}

function ask(
  child: ChildProcess,
  question: LoaderQuestion,
  onSecond: (second: Second) => void,
): Promise<LoaderAnswer> {
  return new Promise((resolve, reject) => {
    const lost = (code: number | null) => reject(new Error(`The loading process ended with ${code}.`));
    const listen = (answer: LoaderAnswer) => {
      if (answer.kind === 'second') return onSecond(answer.second);
      child.off('message', listen);
      child.off('exit', lost);
      if (answer.kind === 'failed') reject(new Error(answer.message));
      else resolve(answer);
    };
    child.on('message', listen);
    child.once('exit', lost);
    child.send(question);
  });
}

/**
 * The rates of an open stage: as given, or as a multiple of a case's rate in an earlier stage.
 * @throws Error when that stage did not measure the case.
 */
export function ratesOf(stage: OpenStage, earlier: readonly StageResult[]): Record<string, number> {
  return Object.fromEntries(
    Object.entries(stage.perSecond).map(([name, rate]) => {
      if (typeof rate === 'number') return [name, rate];
      const reached = earlier.find((one) => one.name === rate.stage)?.cases[name]?.perSecond;
      if (reached === undefined)
        throw new Error(
          `The stage ${stage.name} needs ${name} of the stage ${rate.stage}, which did not measure it.`,
        );
      return [name, Math.max(1, reached * rate.times)];
    }),
  );
}
