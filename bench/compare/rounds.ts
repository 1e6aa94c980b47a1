import { openLoader, type RunOptions, resolveRates } from '../load/run.ts';
import type { StageResult } from '../load/stage.ts';
import type { Stage } from '../load/suite.ts';
import type { LoadTarget } from '../load/target.ts';

/** The stages of both sides in one round. */
export interface Round {
  a: StageResult[];
  b: StageResult[];
}

export interface RoundsOptions extends Omit<RunOptions, 'target' | 'onProgress'> {
  a: LoadTarget;
  b: LoadTarget;
  rounds: number;
  /** Called with the number of a complete round, from 1 on. */
  onRound?: (number: number, round: Round) => void;
}

/**
 * Runs a suite on two instances in turn, A B, B A, A B …, so that changes in the machine's speed affect both. Warm-up
 * stages are run once, before the first round. An open stage whose rate is a multiple of A's result in the round has
 * that rate on both sides. Both sides get the same arrivals in a round, and each round others.
 * @returns the rounds that are complete: if the run is stopped, the others.
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
