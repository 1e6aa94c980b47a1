import {
  conclusionOf,
  type Evidence,
  evidenceOf,
  falseAlarmsOf,
  type RoundRatios,
  roundsNeeded,
} from './evidence.ts';
import type { CaseMeans } from './goodness.ts';
import { type Confirmation, type SearchFindings, sentencesOf } from './sentences.ts';
import { type Candidate, combineBest, keyOf } from './settings.ts';

/** The rounds of a trial. There are fewer than asked for if the run was stopped. */
export interface TrialMeasurement {
  rounds: RoundRatios[];
  /** Means of all rounds, by stage and case. */
  figures: CaseMeans[];
}

/** Measures a candidate against a base: both are their own instances, which run in turn. */
export type MeasureTrial = (
  candidate: Candidate,
  base: Candidate,
  rounds: number,
) => Promise<TrialMeasurement>;

export interface CandidateTrial extends Evidence {
  candidate: Candidate;
  /** The settings that it was measured against; empty: the default. */
  base: Candidate;
  rounds: number;
  /** The ratios of each round. */
  ratios: RoundRatios[];
  figures: CaseMeans[];
}

/** The number of a trial, of those that are planned at most. */
export interface TrialProgress {
  number: number;
  of: number;
}

export interface Recommendation {
  /** The settings to use; empty: the default. */
  recommended: Candidate;
  /** Whether they differ from those that are set now. */
  isChange: boolean;
  /** The reason, in sentences. */
  reason: string;
  /** Every trial, in the order in which they were made. */
  trials: CandidateTrial[];
}

export interface TuneSearchOptions {
  candidates: readonly Candidate[];
  /** The settings of the operator's file and environment; empty if they set none. */
  current?: Candidate;
  measure: MeasureTrial;
  /** Whether there is time for further trials, each with one of these numbers of rounds. */
  hasTimeFor: (...trials: number[]) => boolean;
  onTrial?: (trial: CandidateTrial, progress: TrialProgress) => void;
}

const FIRST_ROUNDS = 2;
/** Pairs of the best three. */
const MAX_PAIRS = 3;
/** The rounds of the present settings between two looks at their figures, and the fewest that are worth a look. */
const CURRENT_ROUNDS = 8;
const MIN_CURRENT_ROUNDS = 3;
const MAX_CURRENT_ROUNDS = 40;
/**
 * Rounds that confirm a winner. They are separate from those that chose it, because the best of many noisy trials looks
 * better than it is. When time is short, fewer are better than none.
 */
export const CONFIRMING_ROUNDS = 10;
const MIN_CONFIRMING_ROUNDS = 4;
const MAX_CONFIRMING_ROUNDS = 40;
/** The most candidates whose confirmation is tried, the best one first. */
const MAX_CONTENDERS = 3;

/**
 * Finds a better setting. The present settings are first compared with the default, for as long as the remaining time
 * can show a difference. The candidates are then searched by successive halving (Karnin, Koren and Somekh, 2013): all
 * of them are tried in a few rounds, the better half in twice as many, and so on. Pairs of the best are combined once.
 * The best candidate is confirmed in separate rounds against the present settings, or against the default if the
 * present settings are shown to be worse. When time is short, the best candidate so far is confirmed. The remaining
 * time goes to the present settings again.
 */
export async function search(options: TuneSearchOptions): Promise<Recommendation> {
  const { candidates, current = {}, hasTimeFor } = options;
  const log = new TrialLog(options);

  const judge = new CurrentJudge(current, log, options);
  await judge.judgeCurrent((needed) => hasTimeFor(needed));
  const incumbent = judge.conclusion === 'worse' ? {} : current;

  let field = candidates.filter((candidate) => keyOf(candidate) !== keyOf(current));
  for (let rounds = FIRST_ROUNDS; field.length > 1 || rounds === FIRST_ROUNDS; rounds *= 2) {
    const isFirst = rounds === FIRST_ROUNDS;
    const later = laterTrials(field.length / 2) + (isFirst ? MAX_PAIRS : 0);
    let tried = 0;
    for (const candidate of field) {
      const reserved = isFirst && tried === 0 ? MIN_CONFIRMING_ROUNDS : CONFIRMING_ROUNDS;
      if (!hasTimeFor(rounds, reserved)) break;
      tried += 1;
      await log.run(candidate, {}, rounds, field.length - tried + later);
    }
    if (tried < field.length) break;
    const better = sortByGoodness(field, log).slice(0, Math.ceil(field.length / 2));
    const best = keyOf(incumbent) === keyOf({}) ? better.slice(0, 3) : [incumbent, ...better.slice(0, 2)];
    const pairs = combineBest(best).filter((pair) => log.roundsOf(pair, {}).length === 0);
    field = isFirst ? [...pairs, ...better] : better.slice(0, Math.floor(field.length / 2));
  }

  const { winner, unconfirmed } = await confirm(incumbent, log, hasTimeFor);
  const others = log.candidates().filter((candidate) => keyOf(candidate) !== keyOf(current));
  if (winner === null) await judge.judgeCurrent(() => true);
  const aboutCurrent = { conclusion: judge.conclusion, rounds: log.roundsOf(current, {}) };
  const findings = { current, aboutCurrent, incumbent, winner, unconfirmed, hasTried: others.length > 0 };
  const recommended = winner?.candidate ?? (judge.conclusion === 'worse' ? {} : current);
  return {
    recommended,
    isChange: keyOf(recommended) !== keyOf(current),
    reason: sentencesOf(findings),
    trials: log.trials,
  };
}

/** The trials so far. All trials of the same candidate and base are joined. */
class TrialLog {
  readonly trials: CandidateTrial[] = [];
  readonly #options: TuneSearchOptions;
  readonly #byPair = new Map<string, RoundRatios[]>();

  constructor(options: TuneSearchOptions) {
    this.#options = options;
  }

  /** @param later number of trials that are planned after this one, at most. */
  async run(
    candidate: Candidate,
    base: Candidate,
    roundCount: number,
    later: number,
  ): Promise<RoundRatios[]> {
    const { rounds, figures } = await this.#options.measure(candidate, base, roundCount);
    this.#byPair.set(pairOf(candidate, base), [...this.roundsOf(candidate, base), ...rounds]);
    const counted = { rounds: rounds.length, ratios: rounds };
    const trial = { candidate, base, ...counted, ...evidenceOf(rounds), figures };
    this.trials.push(trial);
    const number = this.trials.length;
    this.#options.onTrial?.(trial, { number, of: number + Math.ceil(later) });
    return rounds;
  }

  roundsOf(candidate: Candidate, base: Candidate): RoundRatios[] {
    return this.#byPair.get(pairOf(candidate, base)) ?? [];
  }

  /** The candidates that were tried against the default, each once. */
  candidates(): Candidate[] {
    const againstDefault = this.trials.filter(
      ({ candidate, base }) => keyOf(base) === keyOf({}) && keyOf(candidate) !== keyOf({}),
    );
    return [...new Map(againstDefault.map(({ candidate }) => [keyOf(candidate), candidate])).values()];
  }
}

function pairOf(candidate: Candidate, base: Candidate): string {
  return `${keyOf(candidate)} against ${keyOf(base)}`;
}

/** The number of trials in all later passes if `size` candidates are left, including the confirmation. */
function laterTrials(size: number): number {
  return size < 1 ? 1 : size + laterTrials(size / 2);
}

/** Compares the present settings with the default. */
class CurrentJudge {
  readonly #current: Candidate;
  readonly #log: TrialLog;
  readonly #options: TuneSearchOptions;
  #looks = 0;
  conclusion: SearchFindings['aboutCurrent']['conclusion'] = 'open';

  constructor(current: Candidate, log: TrialLog, options: TuneSearchOptions) {
    this.#current = current;
    this.#log = log;
    this.#options = options;
  }

  /**
   * Measures until a difference is shown, the time is over, or `isWorthwhile` returns false for the number of rounds
   * that are still needed.
   */
  async judgeCurrent(isWorthwhile: (needed: number) => boolean): Promise<void> {
    const { candidates, hasTimeFor } = this.#options;
    if (keyOf(this.#current) === keyOf({})) return;
    while (this.conclusion === 'open') {
      const known = this.#log.roundsOf(this.#current, {});
      if (this.#looks > 0 && !isWorthwhile(roundsNeeded(known) - known.length)) return;
      if (known.length >= MAX_CURRENT_ROUNDS) return;
      const rounds = affordableRounds({ most: CURRENT_ROUNDS, fewest: MIN_CURRENT_ROUNDS }, hasTimeFor);
      if (rounds === 0) return;
      this.#looks += 1;
      const later = laterTrials(candidates.length) + MAX_PAIRS;
      const measured = await this.#log.run(this.#current, {}, rounds, later);
      if (measured.length === 0) return;
      this.conclusion = conclusionOf(this.#log.roundsOf(this.#current, {}), falseAlarmsOf(this.#looks));
    }
  }
}

/**
 * Tries the best candidates against the incumbent until one is shown to be better, or the time is over. Each look at
 * the figures uses a part of the false alarms that the whole search may have.
 */
async function confirm(
  incumbent: Candidate,
  log: TrialLog,
  hasTimeFor: TuneSearchOptions['hasTimeFor'],
): Promise<Pick<SearchFindings, 'winner' | 'unconfirmed'>> {
  const contenders = sortByGoodness(log.candidates(), log)
    .filter((candidate) => looksBetter(candidate, incumbent, log))
    .slice(0, MAX_CONTENDERS)
    .map((candidate): Confirmation => ({ candidate, chosenBy: log.roundsOf(candidate, {}), rounds: [] }));
  let look = 0;
  for (const contender of contenders) {
    while (contender.rounds.length < MAX_CONFIRMING_ROUNDS) {
      const known = contender.rounds.length === 0 ? contender.chosenBy : contender.rounds;
      const needed = Math.max(roundsNeeded(known) - contender.rounds.length, CONFIRMING_ROUNDS);
      const most = Math.min(needed, MAX_CONFIRMING_ROUNDS);
      const rounds = affordableRounds({ most, fewest: MIN_CONFIRMING_ROUNDS }, hasTimeFor);
      if (rounds === 0) return { winner: null, unconfirmed: contenders };
      look += 1;
      const measured = await log.run(contender.candidate, incumbent, rounds, 0);
      if (measured.length === 0) return { winner: null, unconfirmed: contenders };
      contender.rounds.push(...measured);
      const conclusion = conclusionOf(contender.rounds, falseAlarmsOf(look));
      if (conclusion === 'better') return { winner: contender, unconfirmed: [] };
      const isBehind = (evidenceOf(contender.rounds).goodness?.ratio ?? 0) <= 1;
      if (isBehind || conclusion === 'worse' || roundsNeeded(contender.rounds) > MAX_CONFIRMING_ROUNDS) break;
    }
  }
  return { winner: null, unconfirmed: contenders };
}

/** The most rounds that there is time for, between these bounds; 0 when there is none. */
function affordableRounds(
  { most, fewest }: { most: number; fewest: number },
  hasTimeFor: TuneSearchOptions['hasTimeFor'],
): number {
  let rounds = most;
  while (rounds >= fewest && !hasTimeFor(rounds)) rounds -= 1;
  return rounds < fewest ? 0 : rounds;
}

function sortByGoodness(candidates: readonly Candidate[], log: TrialLog): Candidate[] {
  const goodness = (candidate: Candidate) => evidenceOf(log.roundsOf(candidate, {})).goodness?.ratio ?? 0;
  return candidates
    .filter((candidate) => goodness(candidate) > 0)
    .sort((one, other) => goodness(other) - goodness(one));
}

/**
 * Whether a candidate looks better than the incumbent by its rounds against the default, and its CPU time is not shown
 * to be worse.
 */
function looksBetter(candidate: Candidate, incumbent: Candidate, log: TrialLog): boolean {
  if (keyOf(candidate) === keyOf(incumbent)) return false;
  const rounds = log.roundsOf(candidate, {});
  const least = evidenceOf(log.roundsOf(incumbent, {})).goodness?.ratio ?? 1;
  const isDefault = keyOf(incumbent) === keyOf({});
  const ratio = evidenceOf(rounds).goodness?.ratio ?? 0;
  return ratio > (isDefault ? 1 : least) && conclusionOf(rounds) !== 'worse';
}
