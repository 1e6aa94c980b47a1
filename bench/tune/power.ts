import type { Stage } from '../load/suite.ts';
import suite from '../suites/tune.ts';
import { deviationOf, differenceShownBy, type RoundRatios } from './evidence.ts';
import type { Weights } from './goodness.ts';
import type { CandidateTrial } from './search.ts';
import type { Candidate } from './settings.ts';

/** How much the goodness of one round differs from the next, on a host without other work and on a busy one. */
const QUIET_DEVIATION = 0.1;
const BUSY_DEVIATION = 0.5;
/** The time in which both instances of a trial start and warm up, on a quiet host. */
const TRIAL_START_MS = 15_000;
/** A candidate is chosen by two rounds and confirmed by four. */
const MIN_TRIALS = 2;
const MIN_ROUNDS = 6;

/** What a search of this length can show, in sentences, before anything is measured. */
export function powerBefore(budgetMs: number, weights: Weights): string {
  const roundMs = roundSeconds(weights) * 1000;
  const leastMs = MIN_TRIALS * TRIAL_START_MS + MIN_ROUNDS * roundMs;
  const minutes = Math.round(budgetMs / 6_000) / 10;
  if (budgetMs < leastMs)
    return `${minutes} min are too short to try and confirm a setting: --minutes ${Math.ceil(leastMs / 60_000)} is the least.`;
  const rounds = Math.floor((budgetMs - TRIAL_START_MS) / roundMs);
  const shown = (deviation: number) => `${Math.ceil(differenceShownBy(rounds, deviation) * 100)} %`;
  return `${minutes} min are at most ${rounds} rounds of ${Math.round(roundMs / 1000)} s. If all of them compared one pair, they would show a difference of ${shown(QUIET_DEVIATION)} on a quiet host, and of ${shown(BUSY_DEVIATION)} on a busy one.`;
}

/** What the time that is left can show, by the noise of a trial. */
export function powerAfter({ ratios }: CandidateTrial, roundsLeft: number): string {
  const deviation = deviationOf(ratios);
  if (deviation === null) return 'The trial has too few figures to tell how noisy this host is.';
  const percent = (share: number) => `${Math.ceil(share * 100)} %`;
  const halves = halvesDifference(ratios);
  const noise = `Rounds differ by ${percent(deviation)} here, the halves of this trial by ${percent(halves)}.`;
  if (roundsLeft < MIN_ROUNDS) return noise;
  return `${noise} The time that is left is at most ${roundsLeft} rounds, which show a difference of ${percent(differenceShownBy(roundsLeft, deviation))}.`;
}

/** A line such as `round 3 of 8: 0.71, CPU 1.02`. */
export function roundSentence(number: number, of: number, { goodness, cpu }: RoundRatios): string {
  const figure = goodness === null ? 'no figure, the loader was the limit' : goodness.toFixed(2);
  return `round ${number} of ${of}: ${figure}${cpu === null ? '' : `, CPU ${cpu.toFixed(2)}`}`;
}

/**
 * The difference between the first and the second half of the rounds of one pair, as a share. It shows how much a
 * comparison varies by itself.
 */
function halvesDifference(rounds: readonly RoundRatios[]): number {
  const logs = rounds.flatMap(({ goodness }) =>
    goodness === null || goodness <= 0 ? [] : [Math.log(goodness)],
  );
  const half = Math.floor(logs.length / 2);
  const mean = (some: readonly number[]) =>
    some.reduce((sum, one) => sum + one, 0) / Math.max(1, some.length);
  return Math.abs(Math.exp(mean(logs.slice(half)) - mean(logs.slice(0, half))) - 1);
}

/** The seconds of one round of a candidate that needs no separate stage: both sides, one after the other. */
function roundSeconds(weights: Weights): number {
  const stages = stagesFor(suite.stages, { candidate: {}, base: {}, weights });
  return 2 * stages.filter(({ isWarmUp }) => !isWarmUp).reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Stages that load what only these settings change: a full queue, and pictures that need much memory. */
const LOADING_STAGE: Readonly<Record<string, string>> = {
  IMAGE_QUEUE: 'queue',
  IMAGE_MEMORY_MEGABYTES: 'big',
};

/**
 * The stages of a trial of a candidate against a base: those of cases that have a weight, without those that load
 * settings in which neither differs from the default.
 */
export function stagesFor(
  stages: readonly Stage[],
  { candidate, base, weights }: { candidate: Candidate; base: Candidate; weights: Weights },
): Stage[] {
  const special = Object.values(LOADING_STAGE);
  const loaded = Object.keys({ ...candidate, ...base }).map((name) => LOADING_STAGE[name]);
  return stages.filter(({ isWarmUp, name, ...stage }) => {
    if (isWarmUp) return true;
    const cases = Object.keys(stage.loop === 'closed' ? stage.connections : stage.perSecond);
    if (!cases.some((one) => (weights[one] ?? 0) > 0)) return false;
    return !special.includes(name) || loaded.includes(name);
  });
}
