import type { StageResult } from './stage.ts';
import type { Measure, Threshold } from './suite.ts';
import type { CaseResult } from './tally.ts';

/** A sentence for each threshold that a run broke. A case that was not measured breaks its threshold. */
export function brokenThresholds(thresholds: readonly Threshold[], stages: readonly StageResult[]): string[] {
  return thresholds.flatMap((threshold) => {
    const { stage, measure, atMost, atLeast } = threshold;
    const found = stages.find(({ name }) => name === stage);
    const result = found?.cases[threshold.case];
    const what = `${stage}, ${threshold.case}: ${measure}`;
    if (found === undefined || result === undefined) return [`${what} was not measured.`];
    if (found.loader.limit !== null) return [`${what} has no figure. ${found.loader.limit}`];
    const value = measured(result, measure);
    const least = leastOf(atLeast, threshold.case, stages);
    if (atMost !== undefined && value > atMost) return [`${what} is ${value}, above ${atMost}.`];
    if (least !== undefined && value < least)
      return [`${what} is ${value}, below ${Number(least.toFixed(2))}.`];
    return [];
  });
}

/** The least value of a threshold. Where the earlier stage was not measured, no value is enough. */
function leastOf(
  atLeast: Threshold['atLeast'],
  name: string,
  stages: readonly StageResult[],
): number | undefined {
  if (typeof atLeast !== 'object') return atLeast;
  const reached = stages.find((stage) => stage.name === atLeast.stage)?.cases[name]?.perSecond;
  return reached === undefined ? Number.POSITIVE_INFINITY : atLeast.times * reached;
}

/** One figure of a case; times in milliseconds. */
export function measured(result: CaseResult, measure: Measure): number {
  return measure === 'perSecond' || measure === 'errorShare' ? result[measure] : result.latencyMs[measure];
}
