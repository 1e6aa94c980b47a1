import { openLoader, type RunOptions, ratesOf } from '../load/run.ts';
import type { StageResult } from '../load/stage.ts';
import type { Target } from '../load/target.ts';

/** The stages of both sides in one round. */
export interface Round {
  a: StageResult[];
  b: StageResult[];
}

export interface RoundsOptions extends Omit<RunOptions, 'target' | 'onSecond'> {
  a: Target;
  b: Target;
  rounds: number;
  onRound?: (round: number) => void;
}

/**
 * Runs a suite on two instances in turn, A B, B A, A B …, so that changes in the machine's speed affect both. Warm-up
 * stages are run once, before the first round. An open stage whose rate is a multiple of A's result in the round has
 * that rate on both sides.
 */
export async function runRounds(options: RoundsOptions): Promise<Round[]> {
  const { suite, rounds, onRound } = options;
  const [loaderA, loaderB] = [
    await openLoader({ ...options, target: options.a }),
    await openLoader({ ...options, target: options.b }),
  ];
  const done: Round[] = [];
  try {
    for (const stage of suite.stages.filter(({ isWarmUp }) => isWarmUp)) {
      for (const loader of [loaderA, loaderB]) await loader.run(stage, {}, () => undefined);
    }
    for (let index = 0; index < rounds; index += 1) {
      const round: Round = { a: [], b: [] };
      for (const stage of suite.stages.filter(({ isWarmUp }) => !isWarmUp)) {
        const rates = stage.loop === 'open' ? ratesOf(stage, [...round.a, ...(done[0]?.a ?? [])]) : {};
        const run = {
          a: async () => round.a.push(await loaderA.run(stage, rates, () => undefined)),
          b: async () => round.b.push(await loaderB.run(stage, rates, () => undefined)),
        };
        for (const side of index % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const)) await run[side]();
      }
      done.push(round);
      onRound?.(index + 1);
    }
  } finally {
    loaderA.stop();
    loaderB.stop();
  }
  return done;
}
