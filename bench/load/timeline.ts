import type { CallEnd } from './sender.ts';
import { LATE_MS, rounded } from './tally.ts';

/** One second of a case. */
export interface Second {
  /** Seconds since the stage began, at the end of this one: from 1 on. */
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
 * The seconds of a case. Answers are placed where they came, latencies and lateness where their call was due: a stall
 * is a gap of answers, and a spike of latency where it began.
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
