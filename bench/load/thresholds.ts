import type { ReportCheck } from '../report/formats.ts';
import type { StageResult } from './stage.ts';
import type { LoadSuite, Measure, Threshold } from './suite.ts';
import type { Figures } from './tally.ts';

/** Checks each threshold. A threshold on a case that was not measured counts as broken. */
export function checkedThresholds(
  thresholds: readonly Threshold[],
  stages: readonly StageResult[],
): ReportCheck[] {
  return thresholds.map((threshold) => {
    const { stage, measure } = threshold;
    return { name: `${stage}, ${threshold.case}: ${measure}`, failure: failureOf(threshold, stages) };
  });
}

/** Checks the growth of memory, if the suite limits it. The result is empty if the run was too short for a trend. */
export function checkedMemory(
  { mostMegabytesPerHour }: LoadSuite,
  memory: { megabytesPerHour: number | null } | null,
): ReportCheck[] {
  const growth = memory?.megabytesPerHour ?? null;
  if (mostMegabytesPerHour === undefined || growth === null) return [];
  const failure =
    growth > mostMegabytesPerHour
      ? `Memory grew by ${growth} MB per hour, above ${mostMegabytesPerHour}.`
      : null;
  return [{ name: 'memory', failure }];
}

function failureOf(threshold: Threshold, stages: readonly StageResult[]): string | null {
  const { stage, measure, atMost, atLeast } = threshold;
  const found = stages.find(({ name }) => name === stage);
  const result = found?.cases[threshold.case];
  const what = `${stage}, ${threshold.case}: ${measure}`;
  if (found === undefined || result === undefined) return `${what} was not measured.`;
  if (found.loader.limit !== null) return `${what} has no figure. ${found.loader.limit}`;
  const value = measuredValue(result, measure);
  const least = leastOf(atLeast, threshold.case, stages);
  if (value === null) return `${what} has no figure: ${nothingMeasuredText(result)}.`;
  if (atMost !== undefined && value > atMost) return `${what} is ${value}, above ${atMost}.`;
  if (least !== undefined && value < least) return `${what} is ${value}, below ${Number(least.toFixed(2))}.`;
  return null;
}

/** The lower limit of a threshold; infinite if it is a multiple of a result that was not measured. */
function leastOf(
  atLeast: Threshold['atLeast'],
  name: string,
  stages: readonly StageResult[],
): number | undefined {
  if (typeof atLeast !== 'object') return atLeast;
  const reached = stages.find((stage) => stage.name === atLeast.stage)?.cases[name]?.perSecond;
  return reached === undefined ? Number.POSITIVE_INFINITY : atLeast.times * reached;
}

function nothingMeasuredText({ sent, right }: Figures): string {
  if (sent === 0) return 'no call was sent';
  return right === 0 ? `none of ${sent} calls was answered right` : 'it was not measured';
}

/** One figure of a case, times in milliseconds; null if there is none, such as a latency without a right answer. */
export function measuredValue(figures: Figures, measure: Measure): number | null {
  if (measure === 'perSecond' || measure === 'errorShare') return figures[measure];
  return figures.latencyMs?.[measure] ?? null;
}
