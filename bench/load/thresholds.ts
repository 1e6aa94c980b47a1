import type { StageResult } from './stage.ts';
import type { Measure, Threshold } from './suite.ts';
import type { CaseResult } from './tally.ts';

/** A sentence for each threshold that a run did not keep; a case that was not measured did not keep its own. */
export function brokenThresholds(thresholds: readonly Threshold[], stages: readonly StageResult[]): string[] {
  return thresholds.flatMap((threshold) => {
    const { stage, measure, atMost, atLeast } = threshold;
    const found = stages.find(({ name }) => name === stage);
    const result = found?.cases[threshold.case];
    const what = `${stage}, ${threshold.case}: ${measure}`;
    if (found === undefined || result === undefined) return [`${what} was not measured.`];
    if (found.loader.limit !== null) return [`${what} has no figure. ${found.loader.limit}`];
    const value = measured(result, measure);
    if (atMost !== undefined && value > atMost) return [`${what} is ${value}, above ${atMost}.`];
    if (atLeast !== undefined && value < atLeast) return [`${what} is ${value}, below ${atLeast}.`];
    return [];
  });
}

/** One figure of a case; times in milliseconds. */
export function measured(result: CaseResult, measure: Measure): number {
  return measure === 'perSecond' || measure === 'errorShare' ? result[measure] : result.latencyMs[measure];
}
