import { evidenceOf, type RoundRatios } from './evidence.ts';
import { type Candidate, keyOf } from './settings.ts';

/** The findings of the search, from which the sentences of its outcome are made. */
export interface SearchFindings {
  current: Candidate;
  aboutCurrent: { conclusion: 'better' | 'worse' | 'open'; rounds: RoundRatios[] };
  /** Base of the confirmation: the present settings, unless they are shown to be worse than the default. */
  incumbent: Candidate;
  /** The confirmed candidate; null: the incumbent stays. */
  winner: Confirmation | null;
  /** The candidates that looked better but were not confirmed, the best first. */
  unconfirmed: Confirmation[];
  /** Whether any other setting was tried. */
  hasTried: boolean;
}

export interface Confirmation {
  candidate: Candidate;
  /** The rounds that chose it. */
  chosenBy: RoundRatios[];
  /** The separate rounds that confirm it; empty if there was no time. */
  rounds: RoundRatios[];
}

/** The outcome of a search in sentences: first what to use, then why. */
export function sentencesOf(findings: SearchFindings): string {
  const { winner } = findings;
  return winner === null
    ? [keepSentence(findings), aboutCandidates(findings)].join(' ')
    : [winnerSentence(winner, findings), ...aboutReplaced(findings)].join(' ');
}

function winnerSentence({ candidate, rounds }: Confirmation, { incumbent }: SearchFindings): string {
  const { goodness } = evidenceOf(rounds);
  const gain = Math.round(((goodness?.ratio ?? 1) - 1) * 100);
  const least = Math.round(((goodness?.low ?? 1) - 1) * 1000) / 10;
  return `Use ${keyOf(candidate)}: ${gain} % better than ${nameOf(incumbent)} in ${rounds.length} rounds (at least ${least} % with 95 % confidence${cpuOf(rounds)}).`;
}

/** Sentences about replaced settings that are worse than the default themselves. */
function aboutReplaced({ current, aboutCurrent }: SearchFindings): string[] {
  if (aboutCurrent.conclusion !== 'worse') return [];
  return [
    `${keyOf(current)}, which is set now, is worse than the default: ${figuresText(aboutCurrent.rounds)}.`,
  ];
}

function keepSentence({ current, aboutCurrent }: SearchFindings): string {
  const key = keyOf(current);
  if (key === keyOf({})) return 'Keep the default.';
  const { conclusion, rounds } = aboutCurrent;
  if (rounds.length === 0)
    return `Keep what is set: there was no time to measure ${key}, which is set now, against the default.`;
  const figures = figuresText(rounds);
  if (conclusion === 'worse')
    return `Go back to the default: ${key}, which is set now, is worse than it: ${figures}.`;
  if (conclusion === 'better')
    return `Keep ${key}, which is set now and is better than the default: ${figures}.`;
  return `Keep ${key}, which is set now; it was shown to be neither better nor worse than the default: ${figures}.`;
}

function aboutCandidates({ unconfirmed, incumbent, hasTried }: SearchFindings): string {
  if (!hasTried) return 'There was no time to try other settings.';
  if (unconfirmed.length === 0) return `No other setting looked better than ${nameOf(incumbent)}.`;
  const tried = unconfirmed.filter(({ rounds }) => rounds.length > 0).map((one) => notShownSentence(one));
  const untried = unconfirmed
    .filter(({ rounds }) => rounds.length === 0)
    .map((one) => notConfirmedSentence(one));
  return [...tried, ...untried].join(' ');
}

function notShownSentence({ candidate, chosenBy, rounds }: Confirmation): string {
  return `${keyOf(candidate)} looked better, not confirmed: ${figuresText(chosenBy)} of the default; ${figuresText(rounds)} when it was tried again.`;
}

function notConfirmedSentence({ candidate, chosenBy }: Confirmation): string {
  return `${keyOf(candidate)} looked better, not confirmed: ${figuresText(chosenBy)} of the default, and there was no time for more.`;
}

function figuresText(rounds: readonly RoundRatios[]): string {
  const { goodness } = evidenceOf(rounds);
  if (goodness === null) return `no figure in ${rounds.length} rounds`;
  const { ratio, low, high } = goodness;
  return `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)}${cpuOf(rounds)}) in ${rounds.length} rounds`;
}

function cpuOf(rounds: readonly RoundRatios[]): string {
  const { cpu } = evidenceOf(rounds);
  return cpu === null ? '' : `; CPU time per call ${cpu.ratio.toFixed(2)}`;
}

function nameOf(candidate: Candidate): string {
  return keyOf(candidate) === keyOf({}) ? 'the default' : `${keyOf(candidate)}, which is set now`;
}
