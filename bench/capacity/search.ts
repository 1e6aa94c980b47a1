import { type CaseResult, type Figures, mostFrequentErrorOf } from '../load/tally.ts';

/** A rate that was tried. */
export interface TriedRate {
  /** Calls per second. */
  rate: number;
  /** Whether the service met its objective. */
  holds: boolean;
}

interface RateSearchOptions<P extends TriedRate> {
  /** The rate to begin with. */
  first: number;
  /** Tries a rate. Null if the run was stopped, which ends the search. */
  probe: (rate: number) => Promise<P | null>;
  /** Tries the highest rate that held once more, for longer. Null if the run was stopped. */
  confirm: (rate: number) => Promise<P | null>;
}

export interface CapacityFound<P extends TriedRate> {
  /** The highest rate that held when it was confirmed; null if no rate did. */
  best: P | null;
  /** The lowest rate that failed; null if none did. */
  next: P | null;
  /** Whether the search ended before it was precise, because the run was stopped or the probes ran out. */
  isCutShort: boolean;
}

/** The search ends when the lowest rate that fails is less than this many times the highest rate that holds. */
const RATE_PRECISION = 1.05;
const RATE_GROWTH = 2;
const MIN_RATE = 0.1;
const MAX_PROBES = 24;

/**
 * Finds the highest rate that holds. The rate grows or shrinks from the first one until one rate holds and one fails.
 * The range between them is then bisected. A rate that failed is tried once more before it counts, because other load
 * on the machine can make a service fail. A rate can also hold by chance, if few calls arrive during its probe.
 * Therefore the highest rate is confirmed by a longer probe, and the search continues below it if that fails.
 */
export async function searchCapacity<P extends TriedRate>(
  options: RateSearchOptions<P>,
): Promise<CapacityFound<P>> {
  const { first, probe, confirm } = options;
  const held: P[] = [];
  let next: P | null = null;
  const found = (isCutShort: boolean): CapacityFound<P> => ({ best: held.at(-1) ?? null, next, isCutShort });
  let rate = first;
  for (let count = 0; count < MAX_PROBES; count += 1) {
    const tried = await tryTwice(probe, rate);
    if (tried === null) return found(true);
    if (tried.holds) held.push(tried);
    else next = tried;

    while (isPrecise(held.at(-1), next)) {
      const best = held.at(-1);
      if (best === undefined) return found(false);
      const confirmed = await tryTwice(confirm, best.rate);
      if (confirmed === null) return found(true);
      held.pop();
      if (confirmed.holds) held.push(confirmed);
      if (confirmed.holds) return found(false);
      next = confirmed;
    }
    rate = nextRate(held.at(-1)?.rate ?? null, next?.rate ?? Number.POSITIVE_INFINITY);
  }
  return found(true);
}

/** Tries a rate, and a second time if it failed. */
async function tryTwice<P extends TriedRate>(
  trial: (rate: number) => Promise<P | null>,
  rate: number,
): Promise<P | null> {
  const first = await trial(rate);
  return first?.holds === false ? trial(rate) : first;
}

function isPrecise(best: TriedRate | undefined, next: TriedRate | null): boolean {
  return next !== null && next.rate <= (best?.rate ?? MIN_RATE) * RATE_PRECISION;
}

function nextRate(holds: number | null, fails: number): number {
  if (holds === null) return Math.max(MIN_RATE, fails / 2);
  return fails === Number.POSITIVE_INFINITY ? holds * RATE_GROWTH : Math.sqrt(holds * fails);
}

const MEASURES = ['p50', 'p95', 'p99', 'errors'] as const;

/** One condition of a service level objective. */
export interface Condition {
  measure: (typeof MEASURES)[number];
  /** Milliseconds for a latency, a share for errors. The measured value has to be below it. */
  below: number;
  /** The condition as the operator wrote it. */
  text: string;
}

/**
 * Reads a service level objective such as `p99<200ms,errors<0.1%`.
 * @throws Error with what is accepted. An objective needs a latency: without one, a queue could grow without end.
 */
export function readObjective(text: string): Condition[] {
  const conditions = text.split(',').map((part) => parseCondition(part.trim()));
  if (!conditions.some(({ measure }) => measure !== 'errors'))
    throw new Error(`--slo is "${text}", but it needs a latency, such as p99<200ms.`);
  return conditions;
}

function parseCondition(text: string): Condition {
  const [, name, number, unit] = /^(\w+)\s*<\s*(\d+(?:\.\d+)?)\s*(ms|s|%)$/.exec(text) ?? [];
  const measure = MEASURES.find((one) => one === name);
  const isShare = unit === '%';
  if (measure === undefined || number === undefined || isShare !== (measure === 'errors'))
    throw new Error(
      `--slo has the condition "${text}", but p50, p95 or p99 below milliseconds or seconds, or errors below a percentage is expected: p99<200ms,errors<0.1%.`,
    );
  const factor = { ms: 1, s: 1000, '%': 0.01 }[unit as 'ms' | 's' | '%'];
  return { measure, below: Number(number) * factor, text };
}

/** The first condition that a case does not meet, with its figure and its errors; null when all of them are met. */
export function brokenCondition(result: CaseResult, conditions: readonly Condition[]): string | null {
  const error = mostFrequentErrorOf(result);
  const errors = error === '' ? '' : `, ${error}`;
  for (const { measure, below, text } of conditions) {
    const value = measure === 'errors' ? result.errorShare : (result.latencyMs?.[measure] ?? null);
    if (value !== null && value < below) continue;
    // Without any error, every condition on errors is met.
    if (measure === 'errors' && value === 0) continue;
    return value === null
      ? `${text}: no right answer${errors}`
      : `${text}: ${figureText(measure, value)}${measure === 'errors' ? errors : ''}`;
  }
  return null;
}

function figureText(measure: Condition['measure'], value: number): string {
  return measure === 'errors' ? `${Number((value * 100).toFixed(2))} %` : `${value} ms`;
}

/**
 * The share above the capacity from which a rate is an overload. At such a rate, the queue grows by this share of a
 * second in each second.
 */
const MIN_OVERLOAD_SHARE = 0.03;
const THIRD = 1 / 3;

/**
 * Whether the queue of an open stage grew from its first third to its last, so that calls waited longer. The objective
 * may still be met when such a stage ends.
 * @param slices equal parts of the stage, in order.
 * @returns how the latency grew, or null if the queue did not grow.
 */
export function queueGrowth(slices: readonly Figures[], seconds: number): string | null {
  const count = Math.max(1, Math.floor(slices.length * THIRD));
  const first = meanLatencyMs(slices.slice(0, count));
  const last = meanLatencyMs(slices.slice(-count));
  if (first === null) return null;
  if (last === null) return 'its queue grew: the last third has no right answer';
  const apartMs = (1 - count / slices.length) * seconds * 1000;
  if (last - first <= MIN_OVERLOAD_SHARE * apartMs) return null;
  return `its queue grew: the mean latency went from ${Math.round(first)} to ${Math.round(last)} ms`;
}

/** The mean latency of the right answers; null without a right answer. */
function meanLatencyMs(slices: readonly Figures[]): number | null {
  const right = slices.reduce((sum, slice) => sum + slice.right, 0);
  if (right === 0) return null;
  return slices.reduce((sum, slice) => sum + slice.right * (slice.latencyMs?.mean ?? 0), 0) / right;
}
