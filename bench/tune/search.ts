import { type Difference, pairedDifference } from '../compare/interval.ts';
import { type Candidate, joined, keyOf } from './candidates.ts';

/** Measures the goodness of a candidate relative to the default, one number per round: above 1 is better. */
export type Measure = (candidate: Candidate, rounds: number) => Promise<number[]>;

export interface Trial {
  candidate: Candidate;
  rounds: number;
  difference: Difference | null;
}

export interface Outcome {
  /** The settings to use; empty: keep the default. */
  recommended: Candidate;
  /** The reason, in a sentence. */
  reason: string;
  /** Every trial, in the order in which they were made. */
  trials: Trial[];
  /** The default beside itself, which shows how much chance alone changes a ratio. */
  noise: Difference | null;
}

export interface SearchOptions {
  candidates: readonly Candidate[];
  /** The settings of the operator's environment, which the reason mentions; empty where it sets none. */
  current?: Candidate;
  measure: Measure;
  /** False when there is no time for more trials with this number of rounds. */
  hasTimeFor: (...trials: number[]) => boolean;
  onTrial?: (trial: Trial) => void;
}

const FIRST_ROUNDS = 2;
const NOISE_ROUNDS = 4;
/** Number of rounds that is enough to judge whether the current setting is better or worse. */
const CURRENT_ROUNDS = 6;
/**
 * Least number of rounds that confirm a winner. They are separate from the rounds that chose it, and fill the time that
 * is left.
 */
export const CONFIRMING_ROUNDS = 10;
const MOST_CONFIRMING_ROUNDS = 30;
/** Largest half-width of the noise's interval, as a share; above it, chance alone hides the effect of a setting. */
const NOISIEST = 0.25;

/**
 * Finds a better setting by successive halving (Karnin, Koren and Somekh, 2013): all candidates are tried in a few
 * rounds, the better half of them in twice as many, and so on; pairs of the best are joined once. The last candidate is
 * then confirmed against the default in separate rounds, because the best of many noisy trials looks better than it is.
 * It is recommended only when the whole interval of these rounds lies above 1.
 */
export async function search(options: SearchOptions): Promise<Outcome> {
  const { candidates, current = {}, measure, hasTimeFor, onTrial } = options;
  const trials: Trial[] = [];

  async function tried(candidate: Candidate, rounds: number): Promise<Trial> {
    const ratios = await measure(candidate, rounds);
    const difference = pairedDifference(ratios.map((ratio) => [1, ratio] as const));
    const trial = { candidate, rounds, difference };
    trials.push(trial);
    onTrial?.(trial);
    return trial;
  }

  const { difference: noise } = await tried({}, NOISE_ROUNDS);
  const keep = (reason: string): Outcome => ({
    recommended: {},
    reason: [reason, ...aboutCurrent(current, trials)].join(' '),
    trials,
    noise,
  });
  if (noise === null || noise.high / noise.low > (1 + NOISIEST) ** 2)
    return keep(
      'Keep the default: this host is too noisy now. The default beside itself differed by more than a quarter.',
    );

  let field = [...candidates];
  for (let rounds = FIRST_ROUNDS; field.length > 1; rounds *= 2) {
    const done: Trial[] = [];
    for (const candidate of field) {
      const isCurrent = keyOf(candidate) === keyOf(current);
      const wanted = isCurrent ? Math.max(rounds, CURRENT_ROUNDS) : rounds;
      if (!hasTimeFor(wanted, CONFIRMING_ROUNDS)) break;
      done.push(await tried(candidate, wanted));
    }
    const better = done.filter(isPromising).sort((a, b) => goodness(b) - goodness(a));
    const half = better.slice(0, Math.ceil(field.length / 2)).map(({ candidate }) => candidate);
    field = rounds === FIRST_ROUNDS ? withJoined(half) : half.slice(0, Math.floor(field.length / 2));
    if (done.length === 0) break;
  }

  const winner = field[0];
  if (winner === undefined) return keep('Keep the default: no other setting looked better.');
  if (!hasTimeFor(CONFIRMING_ROUNDS))
    return keep('Keep the default: there was no time to confirm another setting.');
  const rounds = mostRounds(hasTimeFor);
  const { difference } = await tried(winner, rounds);
  if (difference === null || difference.low <= 1)
    return keep(
      `Keep the default: ${keyOf(winner)} looked best, and was not shown to be better in ${rounds} more rounds.`,
    );
  const gain = Math.round((difference.ratio - 1) * 100);
  const least = Math.round((difference.low - 1) * 1000) / 10;
  return {
    recommended: winner,
    reason: `Use ${keyOf(winner)}: ${gain} % better than the default in ${rounds} rounds (at least ${least} % with 95 % confidence).`,
    trials,
    noise,
  };
}

function mostRounds(hasTimeFor: SearchOptions['hasTimeFor']): number {
  let rounds = CONFIRMING_ROUNDS;
  while (rounds < MOST_CONFIRMING_ROUNDS && hasTimeFor(rounds + 1)) rounds += 1;
  return rounds;
}

/** The result of the longest trial of the current setting, with a recommendation. */
function aboutCurrent(current: Candidate, trials: readonly Trial[]): string[] {
  const name = keyOf(current);
  if (name === keyOf({})) return [];
  const [longest] = trials
    .filter(({ candidate }) => keyOf(candidate) === name)
    .sort((a, b) => b.rounds - a.rounds);
  if (!longest?.difference) return [`There was no time to try ${name}, which your environment sets.`];
  const { ratio, low, high } = longest.difference;
  const figures = `${ratio.toFixed(2)} of the default (${low.toFixed(2)} to ${high.toFixed(2)})`;
  return high < 1
    ? [`Your environment sets ${name}, which is worse: ${figures}. Take it out.`]
    : [`Your environment sets ${name}, which was not shown to be better: ${figures}.`];
}

function isPromising(trial: Trial): boolean {
  return goodness(trial) > 1;
}

function goodness({ difference }: Trial): number {
  return difference?.ratio ?? 0;
}

/** The better half, preceded by pairs of its best joined, so that halving does not drop them at once. */
function withJoined(half: readonly Candidate[]): Candidate[] {
  return [...joined(half.slice(0, 3)), ...half];
}
