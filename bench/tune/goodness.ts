import type { Round } from '../compare/rounds.ts';
import type { StageResult } from '../load/stage.ts';

/** Weight of each case in the goodness of a round; other cases do not count. */
export type Weights = Record<string, number>;

/** Ratio to the default's p99 above which a tail reduces the goodness, whatever the throughput. */
const LONGEST_TAIL = 1.5;

/**
 * Goodness of B beside A in one round: the weighted geometric mean of the ratios of right answers per second, reduced
 * where the p99 is more than 1.5 times as long as before. Null when a stage has no figure on one side, as when the
 * loader was the limit.
 */
export function goodnessOf(round: Round, weights: Weights): number | null {
  let log = 0;
  let weightSum = 0;
  for (const a of round.a) {
    const b = round.b.find(({ name }) => name === a.name);
    if (b === undefined || a.loader.limit !== null || b.loader.limit !== null) return null;
    for (const [name, weight] of Object.entries(weights)) {
      const ratio = caseRatio(a, b, name);
      if (ratio === undefined) continue;
      log += weight * Math.log(Math.max(ratio, 1e-3));
      weightSum += weight;
    }
  }
  return weightSum === 0 ? null : Math.exp(log / weightSum);
}

function caseRatio(a: StageResult, b: StageResult, name: string): number | undefined {
  const [caseA, caseB] = [a.cases[name], b.cases[name]];
  if (caseA === undefined || caseB === undefined || caseA.perSecond === 0) return undefined;
  const [tailA, tailB] = [caseA.latencyMs?.p99 ?? 0, caseB.latencyMs?.p99 ?? 0];
  const tail = tailA === 0 ? 1 : tailB / tailA;
  return caseB.perSecond / caseA.perSecond / Math.max(1, tail / LONGEST_TAIL);
}

/**
 * Reads `small=1,camera=2,cards=0`.
 * @throws Error that says what is accepted.
 */
export function readWeights(text: string, usual: Weights): Weights {
  if (text === '') return usual;
  const weights = Object.fromEntries(
    text.split(',').map((part) => {
      const [name = '', value = ''] = part.split('=');
      const weight = Number(value);
      if (!(name in usual) || value === '' || !(weight >= 0))
        throw new Error(
          `--mix has "${part}", but parts such as ${Object.keys(usual)[0]}=2 are expected; cases: ${Object.keys(usual).join(', ')}.`,
        );
      return [name, weight];
    }),
  );
  if (Object.values(weights).every((weight) => weight === 0))
    throw new Error('--mix gives weight to no case.');
  return { ...Object.fromEntries(Object.keys(usual).map((name) => [name, 0])), ...weights };
}
