import type { StageResult } from '../load/stage.ts';
import type { Measure } from '../load/suite.ts';
import { type Figures, rounded } from '../load/tally.ts';
import { measuredValue } from '../load/thresholds.ts';
import { mean } from '../suite.ts';
import { boundsOf, type Estimate, holmCorrection, pairedEstimate, unpairedEstimate } from './interval.ts';

/** `cpuMsPerCall` is the CPU time of all processes of an instance per right answer. */
export type ComparedMeasure = Measure | 'cpuMsPerCall';

/** The change from A to B: 0.1 is 10 % more or, for the share of errors, 10 percentage points more. */
export interface Change {
  by: number;
  /** Bounds of its interval, corrected for the number of rows. */
  low: number;
  high: number;
  /** Whether the runs show a difference that chance does not explain. */
  isShown: boolean;
}

/** One figure of one case on both sides, as means of all rounds. */
export interface ComparedRow {
  stage: string;
  /** `all cases` for the CPU time, which the processes of an instance spend on all of them. */
  case: string;
  measure: ComparedMeasure;
  a: number | null;
  b: number | null;
  /** Null when there is too little data to compare. */
  change: Change | null;
  conclusion: string;
}

export interface ComparedRound {
  a: readonly StageResult[];
  b: readonly StageResult[];
}

const MEASURES = ['perSecond', 'p50', 'p95', 'p99', 'errorShare'] as const;
/**
 * The fewest pairs of rounds from which a difference is computed. Two pairs may be alike by chance and would then show
 * a difference.
 */
const MIN_PAIRS = 3;
/**
 * The fewest right answers of a side in each round for which a percentile is compared, so that five of them lie beyond
 * it.
 */
const MIN_RIGHT_CALLS: Partial<Record<ComparedMeasure, number>> = { p50: 10, p95: 100, p99: 500 };
/** Worse rows that a conclusion names, the largest changes first. */
const MAX_NAMED = 3;
/**
 * The measures by family. The correction for multiple comparisons counts only the rows of one family. CPU time has its
 * own family, because it is far less noisy than speed on a busy machine.
 */
const MEASURE_FAMILIES: ReadonlyArray<readonly ComparedMeasure[]> = [
  ['cpuMsPerCall'],
  ['errorShare'],
  ['perSecond', 'p50', 'p95', 'p99'],
];

interface CandidateRow extends Omit<ComparedRow, 'change' | 'conclusion'> {
  estimate: Estimate | null;
  /** Reason why there is no estimate. */
  reason: string;
}

/** Compares two runs by the slices of their stages. */
export function compareRuns(a: readonly StageResult[], b: readonly StageResult[]): ComparedRow[] {
  const candidates = a.flatMap((stageA) => {
    const stageB = b.find(({ name }) => name === stageA.name);
    if (stageB === undefined) return [];
    const limit = stageA.loader.limit ?? stageB.loader.limit;
    return Object.entries(stageA.slices).flatMap(([name, slicesA]) => {
      const used = (slices: readonly Figures[]) =>
        limit === null ? slices.filter(({ sent }) => sent > 0) : [];
      const sides = { a: used(slicesA), b: used(stageB.slices[name] ?? []) };
      return MEASURES.map((measure) =>
        candidateOf({
          stage: stageA.name,
          case: name,
          measure,
          isPaired: false,
          limit,
          ...valuesOf(sides, measure),
        }),
      );
    });
  });
  return judgeRows(candidates);
}

/**
 * Compares interleaved rounds, pair by pair. Pairs in which the loader was the limit give no speed, but their
 * errors and their CPU time count.
 */
export function compareRounds(rounds: readonly ComparedRound[]): ComparedRow[] {
  const candidates = (rounds[0]?.a ?? []).flatMap(({ name: stage, cases }) => {
    const pairs = rounds.map((round) => stagePairOf(round, stage)).filter((pair) => pair !== undefined);
    const unlimited = pairs.filter((pair) => pair.every(({ loader }) => loader.limit === null));
    const loaderLimit = pairs.flat().find(({ loader }) => loader.limit !== null)?.loader.limit ?? null;
    const common = { stage, isPaired: true };
    const rows = Object.keys(cases).flatMap((name) =>
      MEASURES.map((measure) => {
        const used = measure === 'errorShare' ? pairs : unlimited;
        const limit = used.length < MIN_PAIRS ? (loaderLimit ?? tooFewPairsText(used)) : null;
        const side = (index: 0 | 1) => used.flatMap((pair) => pair[index].cases[name] ?? []);
        const values = valuesOf({ a: side(0), b: side(1) }, measure);
        return candidateOf({ ...common, limit, case: name, measure, ...values });
      }),
    );
    const cpu = (index: 0 | 1) => pairs.map((pair) => cpuMsPerCall(pair[index]));
    const hasCpu = [...cpu(0), ...cpu(1)].some((value) => value !== null);
    if (!hasCpu) return rows;
    const limit = pairs.length < MIN_PAIRS ? tooFewPairsText(pairs) : null;
    const cost = { measure: 'cpuMsPerCall', a: cpu(0), b: cpu(1), fewest: Number.POSITIVE_INFINITY } as const;
    return [...rows, candidateOf({ ...common, limit, case: 'all cases', ...cost })];
  });
  return judgeRows(candidates);
}

function tooFewPairsText(pairs: readonly unknown[]): string {
  return `too few rounds: ${pairs.length} of ${MIN_PAIRS}`;
}

/**
 * The rows in which B is shown to be worse, by the bound of the interval that is nearest to no change. A larger share
 * of errors always counts.
 * @param failOver share of slowness that is allowed, such as 0.05; null: slowness never counts.
 */
export function worseThan(rows: readonly ComparedRow[], failOver: number | null): ComparedRow[] {
  return rows.filter(({ change, measure }) => {
    if (change === null || !change.isShown) return false;
    if (measure === 'errorShare') return change.low > 0;
    if (failOver === null) return false;
    const slower = measure === 'perSecond' ? 1 / (1 + change.high) - 1 : change.low;
    return slower > failOver;
  });
}

/** The name of a row, such as `small, resize: p50`. */
export function nameOf({ stage, case: name, measure }: ComparedRow): string {
  return `${stage}, ${name}: ${measure}`;
}

/** The result of a comparison in a sentence or two: the rows that are worse, and how many there could be. */
export function conclusionOf(rows: readonly ComparedRow[]): string {
  const compared = rows.filter(({ change }) => change !== null);
  if (rows.length === 0) return 'Nothing could be compared: no stage was measured on both sides.';
  if (compared.length === 0) return `Nothing could be compared: ${rows[0]?.conclusion}`;
  const worse = worseThan(rows, 0).toSorted((one, other) => changeSizeOf(other) - changeSizeOf(one));
  const better = compared.filter(({ change }) => change?.isShown).length - worse.length;
  const named = worse.slice(0, MAX_NAMED).map((row) => `${nameOf(row)} ${row.conclusion}`);
  const more = worse.length - named.length;
  const list = [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  const counts = `${worse.length} of ${compared.length} rows worse${better === 0 ? '' : `, ${better} better`}`;
  const left =
    compared.length === rows.length ? '' : ` ${compared.length} of ${rows.length} rows were compared.`;
  return `${counts}${list === '' ? '' : `: ${list}`}.${left}`;
}

function changeSizeOf({ change }: ComparedRow): number {
  return Math.abs(change?.by ?? 0);
}

function stagePairOf(
  { a, b }: ComparedRound,
  stage: string,
): readonly [StageResult, StageResult] | undefined {
  const [stageA, stageB] = [a, b].map((side) => side.find(({ name }) => name === stage));
  return stageA === undefined || stageB === undefined ? undefined : [stageA, stageB];
}

/**
 * CPU time of all processes of an instance per right answer of a stage; null if it is not known, or there is no right
 * answer.
 */
export function cpuMsPerCall({ instanceCpuMs, cases }: StageResult): number | null {
  const right = Object.values(cases).reduce((sum, result) => sum + result.right, 0);
  return instanceCpuMs === undefined || right === 0 ? null : instanceCpuMs / right;
}

type MeasuredValues = ReadonlyArray<number | null>;

function valuesOf(sides: Record<'a' | 'b', readonly Figures[]>, measure: Measure) {
  const read = (figures: readonly Figures[]) => figures.map((one) => measuredValue(one, measure));
  const fewest = Math.min(...[...sides.a, ...sides.b].map(({ right }) => right));
  return { a: read(sides.a), b: read(sides.b), fewest };
}

function candidateOf(options: {
  stage: string;
  case: string;
  measure: ComparedMeasure;
  isPaired: boolean;
  limit: string | null;
  a: MeasuredValues;
  b: MeasuredValues;
  /** The fewest right answers behind one of the values. */
  fewest: number;
}): CandidateRow {
  const { stage, measure, isPaired, limit, fewest } = options;
  const isShare = measure === 'errorShare';
  const scale = (value: number | null) => (value === null ? null : isShare ? value : Math.log(value));
  const [a, b] = [options.a.map(scale), options.b.map(scale)];
  const meanOf = (values: MeasuredValues) => {
    const known = values.filter(isMeasured);
    if (known.length === 0) return null;
    return rounded(isShare ? mean(known) : Math.exp(mean(known)), isShare ? 4 : 2);
  };
  const needed = MIN_RIGHT_CALLS[measure] ?? 0;
  const isEnough = fewest >= needed;
  const estimate = isPaired
    ? pairedEstimate(
        a.map((value, index) => (b[index] ?? Number.NaN) - (value ?? Number.NaN)).filter(Number.isFinite),
      )
    : unpairedEstimate(a.filter(isMeasured), b.filter(isMeasured));
  const reason = isEnough ? 'too little was measured' : `too few answers: ${fewest} of ${needed}`;
  const row = { stage, case: options.case, measure, a: meanOf(a), b: meanOf(b) };
  return { ...row, estimate: isEnough && limit === null ? estimate : null, reason: limit ?? reason };
}

function isMeasured(value: number | null): value is number {
  return value !== null && Number.isFinite(value);
}

function judgeRows(candidates: readonly CandidateRow[]): ComparedRow[] {
  const changes = new Map<CandidateRow, Change>();
  for (const family of MEASURE_FAMILIES) {
    const members = candidates.flatMap((candidate) =>
      candidate.estimate !== null && family.includes(candidate.measure)
        ? [{ candidate, estimate: candidate.estimate }]
        : [],
    );
    const corrected = holmCorrection(members.map(({ estimate }) => estimate));
    members.forEach(({ candidate, estimate }, index) => {
      const { falseAlarms = 0.05, isShown = false } = corrected[index] ?? {};
      const [low, high] = boundsOf(estimate, falseAlarms);
      const change = (value: number) => (candidate.measure === 'errorShare' ? value : Math.exp(value) - 1);
      changes.set(candidate, { by: change(estimate.mean), low: change(low), high: change(high), isShown });
    });
  }
  return candidates.map((candidate) => {
    const { estimate: _, reason, ...row } = candidate;
    const change = changes.get(candidate) ?? null;
    return { ...row, change, conclusion: change === null ? reason : changeText(change, row.measure) };
  });
}

function changeText({ by, low, high, isShown }: Change, measure: ComparedMeasure): string {
  const unit = measure === 'errorShare' ? 'points' : '%';
  const text = (share: number) => {
    const amount = rounded(share * 100, 1);
    return `${amount > 0 ? '+' : ''}${amount} ${unit}`;
  };
  const interval = `${text(low)} to ${text(high)}`;
  return isShown ? `${text(by)} (${interval})` : `no difference shown (${interval})`;
}
