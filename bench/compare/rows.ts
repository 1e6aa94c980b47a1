import type { StageResult } from '../load/stage.ts';
import type { Measure } from '../load/suite.ts';
import { rounded } from '../load/tally.ts';
import { measured } from '../load/thresholds.ts';
import { type Difference, pairedDifference, unpairedDifference } from './interval.ts';

/** One figure of one case on both sides. Ratios are B over A. */
export interface ComparedRow {
  stage: string;
  case: string;
  measure: Measure;
  a: number;
  b: number;
  /** Null when there is too little data to compare. */
  difference: Difference | null;
  verdict: string;
}

const MEASURES = ['perSecond', 'p50', 'p95', 'p99'] as const;

/** Compares two runs by the slices of their stages. */
export function compareRuns(a: readonly StageResult[], b: readonly StageResult[]): ComparedRow[] {
  return rowsOf(a, b, (stageA, stageB, name, measure) => {
    const values = (stage: StageResult) =>
      (stage.slices[name] ?? []).map((slice) => measured(slice, measure));
    return unpairedDifference(values(stageA), values(stageB));
  });
}

/** Compares interleaved rounds, pair by pair. */
export function compareRounds(rounds: ReadonlyArray<{ a: StageResult[]; b: StageResult[] }>): ComparedRow[] {
  const last = rounds.at(-1);
  if (last === undefined) return [];
  return rowsOf(last.a, last.b, (stageA, _stageB, name, measure) => {
    const value = (stages: StageResult[]) => {
      const result = stages.find((stage) => stage.name === stageA.name)?.cases[name];
      return result === undefined ? 0 : measured(result, measure);
    };
    return pairedDifference(rounds.map((round) => [value(round.a), value(round.b)] as const));
  });
}

/**
 * The rows in which B is shown to be worse by more than a share.
 * @param failOver such as 0.05.
 */
export function worseThan(rows: readonly ComparedRow[], failOver: number): ComparedRow[] {
  return rows.filter(({ difference, measure }) => {
    if (difference === null || !difference.isShown) return false;
    const slowness = measure === 'perSecond' ? 1 / difference.ratio : difference.ratio;
    return slowness > 1 + failOver;
  });
}

type Differ = (a: StageResult, b: StageResult, name: string, measure: Measure) => Difference | null;

function rowsOf(a: readonly StageResult[], b: readonly StageResult[], differ: Differ): ComparedRow[] {
  return a.flatMap((stageA) => {
    const stageB = b.find(({ name }) => name === stageA.name);
    if (stageB === undefined) return [];
    return Object.entries(stageA.cases).flatMap(([name, resultA]) => {
      const resultB = stageB.cases[name];
      if (resultB === undefined) return [];
      return MEASURES.map((measure): ComparedRow => {
        const limit = stageA.loader.limit ?? stageB.loader.limit;
        const difference = limit === null ? differ(stageA, stageB, name, measure) : null;
        const [valueA, valueB] = [measured(resultA, measure), measured(resultB, measure)];
        const verdict = limit ?? said(difference);
        return { stage: stageA.name, case: name, measure, a: valueA, b: valueB, difference, verdict };
      });
    });
  });
}

function said(difference: Difference | null): string {
  if (difference === null) return 'too little was measured';
  const { ratio, low, high, isShown } = difference;
  const interval = `${percent(low)} to ${percent(high)}`;
  return isShown ? `${percent(ratio)} (${interval})` : `no difference shown (${interval})`;
}

function percent(ratio: number): string {
  const change = rounded((ratio - 1) * 100, 1);
  return `${change > 0 ? '+' : ''}${change} %`;
}
