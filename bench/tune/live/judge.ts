import { boundsOf, type Difference, pairedEstimate } from '../../compare/interval.ts';
import { FALSE_ALARMS } from '../evidence.ts';
import type { Minute } from './reading.ts';

/** Two minutes that follow each other: the settings that are kept, and the candidate. */
export interface MinutePair {
  base: Minute;
  candidate: Minute;
}

/** Ratios of the candidate over the base; null where too few minutes have the figure. */
export interface LiveEvidence {
  /** Share of the image calls that were answered with success. */
  goodput: Difference | null;
  p99: Difference | null;
  cpu: Difference | null;
}

/** Change of a measure that is too small to matter, as a share. */
const SLIGHT = 0.05;
/** Number of measures that a conclusion looks at. */
const MEASURES = 3;

/** Conditions on which a candidate is given up within its minute. */
const LONGEST_P99 = 2;
const FEWEST_CALLS = 30;
const FEWEST_REFUSALS = 5;
const MORE_REFUSALS = 0.02;

/** The intervals of all measures together have the false alarms of one at 5 %. */
export function liveEvidence(pairs: readonly MinutePair[]): LiveEvidence {
  const difference = (read: (minute: Minute) => number | null): Difference | null => {
    const logs = pairs.flatMap(({ base, candidate }) => {
      const [a, b] = [read(base), read(candidate)];
      return a === null || b === null || a <= 0 || b <= 0 ? [] : [Math.log(b / a)];
    });
    const estimate = pairedEstimate(logs);
    if (estimate === null) return null;
    const [low, high] = boundsOf(estimate, FALSE_ALARMS / MEASURES).map(Math.exp) as [number, number];
    return { ratio: Math.exp(estimate.mean), low, high, isShown: low > 1 || high < 1 };
  };
  return {
    goodput: difference(({ rightShare }) => rightShare),
    p99: difference(({ p99Ms }) => p99Ms),
    cpu: difference(({ cpuMsPerCall }) => cpuMsPerCall),
  };
}

/**
 * The conclusion from the minutes. A candidate is better where one measure is shown to be better by more than 5 %, and
 * none to be worse by as much; worse in the opposite case.
 */
export function liveConclusion(pairs: readonly MinutePair[]): 'better' | 'worse' | 'open' {
  const { goodput, p99, cpu } = liveEvidence(pairs);
  const isMore = (one: Difference | null) => one !== null && one.low > 1 && one.ratio > 1 + SLIGHT;
  const isLess = (one: Difference | null) => one !== null && one.high < 1 && one.ratio < 1 - SLIGHT;
  const isBetter = isMore(goodput) || isLess(p99) || isLess(cpu);
  const isWorse = isLess(goodput) || isMore(p99) || isMore(cpu);
  if (isBetter === isWorse) return 'open';
  return isBetter ? 'better' : 'worse';
}

/**
 * Whether a minute is so bad that its candidate is given up at once.
 * @param kept the minutes of the settings that are kept, which show what is usual.
 * @returns the reason in a few words; null where it may go on.
 */
export function worsening(soFar: Minute, kept: readonly Minute[]): string | null {
  const refusedShare = (minute: Minute) => 1 - (minute.rightShare ?? 1);
  const usualShare = Math.max(0, ...kept.map(refusedShare));
  const share = refusedShare(soFar);
  if (soFar.refused >= FEWEST_REFUSALS && share > usualShare * 2 + MORE_REFUSALS)
    return `${Math.round(share * 100)} % of the calls were refused`;
  const usualP99 = Math.max(0, ...kept.map(({ p99Ms }) => p99Ms ?? 0));
  const { p99Ms } = soFar;
  if (usualP99 > 0 && p99Ms !== null && soFar.right >= FEWEST_CALLS && p99Ms > usualP99 * LONGEST_P99)
    return `p99 rose to ${Math.round(p99Ms)} ms from at most ${Math.round(usualP99)} ms`;
  return null;
}
