import { build, type Histogram } from 'hdr-histogram-js';
import type { CallEnd } from './sender.ts';

/** Latencies in milliseconds. */
interface Latencies {
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  p999: number;
  max: number;
}

/** The figures of one case in a stage, or in a slice of one. */
export interface Figures {
  /** Calls that were sent: right + wrong + unanswered. */
  sent: number;
  right: number;
  wrong: number;
  unanswered: number;
  /** Goodput: right answers per second that arrived during the stage. */
  perSecond: number;
  /** Share of the calls that are wrong or unanswered; null if none was sent. */
  errorShare: number | null;
  /** Latencies of the right answers; null if there is none. */
  latencyMs: Latencies | null;
}

/** The results of one case in a stage. */
export interface CaseResult extends Figures {
  /** Items of right answers per second, such as those of batches; null if an answer has one item. */
  itemsPerSecond: number | null;
  /** Answers that arrived after the end of the stage. They do not count for `perSecond`. */
  drained: number;
  /** The rate that the suite asks for; null for a closed stage. */
  askedPerSecond: number | null;
  /** Calls that were sent per second. Compared with the asked rate, it shows what chance and a slow loader changed. */
  offeredPerSecond: number;
  /** Calls that the loader sent more than 50 ms after they were due, or not at all. */
  sentLate: number;
  /** Calls that were refused and sent again after Retry-After; null for a stage without retries. */
  retries: { sent: number; right: number } | null;
  bytesPerSecond: number;
  /** Number of calls by error. */
  errors: Record<string, number>;
  /** Mean of each part of Server-Timing over the right answers, in milliseconds. */
  timingMs: Record<string, number>;
  /** Points of the percentile curve: share of the right answers, and their latency in milliseconds. */
  curve: Array<[share: number, ms: number]>;
}

/** The most frequent error with its number, such as `429 request_rate × 12`; empty if there is none. */
export function mostFrequentErrorOf({ errors }: Pick<CaseResult, 'errors'>): string {
  const [first] = Object.entries(errors).sort(([, a], [, b]) => b - a);
  return first === undefined ? '' : `${first[0]} × ${first[1]}`;
}

/** The delay by the loader from which a call counts as late, in milliseconds. */
export const LATE_MS = 50;
/** The shares at which the curve of latencies is reported. They come ever closer to 1. */
const CURVE_SHARES = [
  0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.997,
  0.998, 0.999, 0.9995, 0.9999, 1,
];
const MICROSECONDS = 1000;
const MAX_MS = 600_000;

/** The ends of calls by kind, and the latencies of right answers in an HDR histogram of 3 digits. */
export class Tally {
  readonly ends = { right: 0, wrong: 0, unanswered: 0 };
  readonly #latencies: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: MAX_MS * MICROSECONDS,
    numberOfSignificantValueDigits: 3,
  });

  add({ end, dueMs, endMs }: CallEnd): void {
    this.ends[end] += 1;
    if (end === 'right')
      this.#latencies.recordValue(Math.max(1, Math.min(MAX_MS, endMs - dueMs) * MICROSECONDS));
  }

  figures(perSecond: number): Figures {
    const { right, wrong, unanswered } = this.ends;
    const sent = right + wrong + unanswered;
    return {
      sent,
      ...this.ends,
      perSecond: rounded(perSecond),
      errorShare: sent === 0 ? null : rounded((wrong + unanswered) / sent, 4),
      latencyMs: right === 0 ? null : this.#latenciesMs(),
    };
  }

  curve(): CaseResult['curve'] {
    return this.ends.right === 0 ? [] : CURVE_SHARES.map((share) => [share, this.#atMs(share)]);
  }

  #latenciesMs(): Latencies {
    return {
      mean: rounded(this.#latencies.mean / MICROSECONDS),
      p50: this.#atMs(0.5),
      p90: this.#atMs(0.9),
      p95: this.#atMs(0.95),
      p99: this.#atMs(0.99),
      p999: this.#atMs(0.999),
      max: rounded(this.#latencies.maxValue / MICROSECONDS),
    };
  }

  #atMs(share: number): number {
    return rounded(this.#latencies.getValueAtPercentile(share * 100) / MICROSECONDS);
  }
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** One second of a case. */
export interface Second {
  /** The end of this second, in seconds since the stage began; the first is 1. */
  at: number;
  /** Right answers that came in this second. */
  right: number;
  /** Calls that ended wrong or were given up in this second. */
  errors: number;
  /** Latencies of the right answers to the calls that were due in this second; null without one. */
  p50: number | null;
  p99: number | null;
  /** Calls due in this second that the loader sent more than 50 ms late. */
  late: number;
}

interface Collected {
  counts: Pick<Second, 'right' | 'errors' | 'late'>;
  latenciesMs: number[];
}

/**
 * The seconds of a case. Answers count in the second in which they arrive. Latencies, and delays by the loader, count
 * in the second in which their call was due. A stall is therefore a gap in the answers, and a spike of latency where it
 * began.
 */
export class Timeline {
  readonly #startMs: number;
  readonly #seconds: Collected[] = [];

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  sent(dueMs: number, sentMs: number): void {
    const { counts } = this.#at(dueMs);
    if (sentMs - dueMs > LATE_MS) counts.late += 1;
  }

  ended({ end, dueMs, endMs }: CallEnd): void {
    const { counts } = this.#at(endMs);
    if (end === 'right') {
      counts.right += 1;
      this.#at(dueMs).latenciesMs.push(endMs - dueMs);
    } else counts.errors += 1;
  }

  /** Every second from the first one to the last one that has a call or an answer. */
  seconds(): Second[] {
    return this.#seconds.map(({ counts, latenciesMs }, index) => {
      const sorted = latenciesMs.toSorted((a, b) => a - b);
      return { at: index + 1, ...counts, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
    });
  }

  #at(momentMs: number): Collected {
    const index = Math.max(0, Math.floor((momentMs - this.#startMs) / 1000));
    while (this.#seconds.length <= index)
      this.#seconds.push({ counts: { right: 0, errors: 0, late: 0 }, latenciesMs: [] });
    return this.#seconds[index] as Collected;
  }
}

/** The value below which a share of the sorted values lies (nearest rank); null without values. */
export function percentile(sorted: readonly number[], share: number): number | null {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return value === undefined ? null : rounded(value);
}
