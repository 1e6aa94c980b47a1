import { compareRounds, cpuMsPerCall } from '../compare/rows.ts';
import type { Round } from '../load/run.ts';
import type { StageResult } from '../load/stage.ts';
import type { RoundRatios } from './evidence.ts';

/** Weight of each case in the goodness of a round; other cases do not count. */
export type Weights = Record<string, number>;

/** The ratio of p99s from which a change counts, whatever the throughput is. Smaller changes are mostly chance. */
const MAX_TAIL_RATIO = 1.5;

/** A stage of both sides. */
type StagePair = readonly [a: StageResult, b: StageResult];

/**
 * The ratios of B over A in one round. Its goodness is the weighted geometric mean of the ratios of right answers per
 * second, reduced if the p99 is more than 1.5 times as long, and raised if it is as much shorter. Stages in which the
 * loader was the limit do not count for it; what a call costs does not depend on the loader.
 */
export function ratiosOf(round: Round, weights: Weights): RoundRatios {
  const pairs = round.a.flatMap((a): StagePair[] => {
    const b = round.b.find(({ name }) => name === a.name);
    return b === undefined ? [] : [[a, b]];
  });
  const unlimited = pairs.filter((pair) => pair.every(({ loader }) => loader.limit === null));
  return { goodness: goodnessOf(unlimited, weights), cpu: cpuOf(pairs, weights) };
}

function goodnessOf(pairs: readonly StagePair[], weights: Weights): number | null {
  const ratios = pairs.flatMap(([a, b]) =>
    Object.keys(a.cases).map((name): WeighedRatio => [caseRatio(a, b, name), weights[name] ?? 0]),
  );
  return geometricMean(ratios);
}

/** CPU time per right answer, each stage with the weight of its cases. */
function cpuOf(pairs: readonly StagePair[], weights: Weights): number | null {
  const ratios = pairs.map(([a, b]): WeighedRatio => {
    const weight = Object.keys(a.cases).reduce((sum, name) => sum + (weights[name] ?? 0), 0);
    const [costA, costB] = [cpuMsPerCall(a), cpuMsPerCall(b)];
    return [costA && costB ? costB / costA : null, weight];
  });
  return geometricMean(ratios);
}

type WeighedRatio = readonly [ratio: number | null, weight: number];

/** The weighted geometric mean of ratios; null if no ratio has a weight. */
function geometricMean(ratios: readonly WeighedRatio[]): number | null {
  let log = 0;
  let weightSum = 0;
  for (const [ratio, weight] of ratios) {
    if (ratio === null || weight === 0) continue;
    log += weight * Math.log(Math.max(ratio, 1e-3));
    weightSum += weight;
  }
  return weightSum === 0 ? null : Math.exp(log / weightSum);
}

function caseRatio(a: StageResult, b: StageResult, name: string): number | null {
  const [caseA, caseB] = [a.cases[name], b.cases[name]];
  if (caseA === undefined || caseB === undefined || caseA.perSecond === 0) return null;
  const [tailA, tailB] = [caseA.latencyMs?.p99 ?? 0, caseB.latencyMs?.p99 ?? 0];
  const tail = tailA === 0 || tailB === 0 ? 1 : tailB / tailA;
  const counted = tail > 1 ? Math.max(1, tail / MAX_TAIL_RATIO) : Math.min(1, tail * MAX_TAIL_RATIO);
  return caseB.perSecond / caseA.perSecond / counted;
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

/** Means of all rounds of one case in one stage, the base first. */
export interface CaseMeans {
  stage: string;
  case: string;
  /** Right answers per second. */
  perSecond: [number | null, number | null];
  /** Latencies of the right answers, in milliseconds. */
  p50: [number | null, number | null];
  p99: [number | null, number | null];
  /** CPU time of all processes of the instance per right answer of the stage, in milliseconds. */
  cpuMsPerCall: [number | null, number | null];
}

/** The figures of a trial as an operator reads them: answers per second and milliseconds. */
export function figuresOf(rounds: readonly Round[]): CaseMeans[] {
  const rows = compareRounds(rounds);
  const stages: readonly StageResult[] = rounds[0]?.a ?? [];
  return stages.flatMap(({ name: stage, cases }) =>
    Object.keys(cases).map((name) => {
      const pair = (measure: string, of = name): [number | null, number | null] => {
        const row = rows.find((one) => one.stage === stage && one.case === of && one.measure === measure);
        return [row?.a ?? null, row?.b ?? null];
      };
      return {
        stage,
        case: name,
        perSecond: pair('perSecond'),
        p50: pair('p50'),
        p99: pair('p99'),
        cpuMsPerCall: pair('cpuMsPerCall', 'all cases'),
      };
    }),
  );
}
