import { boundsOf, type Estimate, pairedEstimate, type SideDifference } from '../compare/interval.ts';

/** The ratios of one round, B over A. */
export interface RoundRatios {
  /** Above 1 is better; null if the round has no figure, as when the loader was the limit. */
  goodness: number | null;
  /** CPU time per right answer, below 1 is cheaper; null if it is not known. */
  cpu: number | null;
}

/** The difference that some rounds show in each measure; null below two rounds with a figure. */
export interface Evidence {
  goodness: SideDifference | null;
  cpu: SideDifference | null;
}

export type Conclusion = 'better' | 'worse' | 'open';

/** The accepted share of false alarms of a conclusion, over all looks at the figures together. */
export const FALSE_ALARM_RATE = 0.05;
/** The ratio of CPU time per call above which a setting counts as too costly. */
const MAX_COST_RATIO = 1.05;

/**
 * The evidence of some rounds.
 * @param falseAlarms share of false alarms of each interval.
 */
export function evidenceOf(rounds: readonly RoundRatios[], falseAlarms = FALSE_ALARM_RATE): Evidence {
  const difference = (read: (round: RoundRatios) => number | null): SideDifference | null => {
    const estimate = estimateOf(rounds.map(read));
    if (estimate === null) return null;
    const [low, high] = boundsOf(estimate, falseAlarms).map(Math.exp) as [number, number];
    return { ratio: Math.exp(estimate.mean), low, high, isShown: low > 1 || high < 1 };
  };
  return { goodness: difference(({ goodness }) => goodness), cpu: difference(({ cpu }) => cpu) };
}

/**
 * The conclusion from the rounds. A setting is better if its goodness is, unless it costs more CPU time than it gains.
 * It is worse if its goodness is, or if it is no better and costs over 5 % more CPU time per call.
 * @param falseAlarms share of false alarms of the conclusion, which the two measures share.
 */
export function conclusionOf(rounds: readonly RoundRatios[], falseAlarms = FALSE_ALARM_RATE): Conclusion {
  const { goodness, cpu } = evidenceOf(rounds, falseAlarms / 2);
  if (goodness === null) return 'open';
  const isCostly = cpu !== null && cpu.low > MAX_COST_RATIO;
  if (goodness.low > 1) return isCostly && cpu.ratio > goodness.ratio ? 'open' : 'better';
  return goodness.high < 1 || isCostly ? 'worse' : 'open';
}

/**
 * The share of false alarms that one look at the figures may use, if they are looked at again after further rounds:
 * 1/2, 1/6, 1/12 … of the whole share. Together, all looks never exceed it.
 * @param look counts from 1.
 */
export function falseAlarmsOf(look: number): number {
  return FALSE_ALARM_RATE / (look * (look + 1));
}

/** The number of standard errors at which a difference is likely to be distinguished from chance. */
const CLEAR_STANDARD_ERRORS = 3;

/**
 * Number of rounds after which the goodness is likely to be distinguished from chance, whether it is above or below 1.
 * Infinite if it is 1, or not known.
 */
export function roundsNeeded(rounds: readonly RoundRatios[]): number {
  const estimate = estimateOf(rounds.map(({ goodness }) => goodness));
  const deviation = deviationOf(rounds);
  if (estimate === null || deviation === null || estimate.mean === 0) return Number.POSITIVE_INFINITY;
  return Math.ceil(((CLEAR_STANDARD_ERRORS * deviation) / estimate.mean) ** 2);
}

/** The standard deviation of the goodness of a round, as a share: 0.1 is 10 %. Null below two rounds with a figure. */
export function deviationOf(rounds: readonly RoundRatios[]): number | null {
  const estimate = estimateOf(rounds.map(({ goodness }) => goodness));
  return estimate && estimate.standardError * Math.sqrt(estimate.freedom + 1);
}

/** The least difference, as a share, that this many rounds are likely to distinguish from chance. */
export function differenceShownBy(rounds: number, deviation: number): number {
  return (CLEAR_STANDARD_ERRORS * deviation) / Math.sqrt(rounds);
}

function estimateOf(ratios: ReadonlyArray<number | null>): Estimate | null {
  return pairedEstimate(ratios.flatMap((ratio) => (ratio === null || ratio <= 0 ? [] : [Math.log(ratio)])));
}
