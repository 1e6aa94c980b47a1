import { build, type Histogram } from 'hdr-histogram-js';

/** One answer, or the lack of one. */
export interface Outcome {
  /** 0 when the connection failed or no answer arrived in time. */
  status: number;
  /** Time from when the call was due (open loop) or sent (closed loop) to the end of its answer. */
  latencyMs: number;
  bytes: number;
  /** The error code, with its reason after a slash; null for a right answer. */
  error: string | null;
  /** The answer's Server-Timing, in milliseconds by part. */
  timing: Record<string, number>;
}

/** Latencies in milliseconds. */
export interface Latencies {
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  p999: number;
  max: number;
}

/** The results of one case in a stage, or in a slice of one. */
export interface CaseResult {
  calls: number;
  /** Right answers per second: goodput. */
  perSecond: number;
  errorShare: number;
  latencyMs: Latencies;
  bytesPerSecond: number;
  /** Number of answers by error. */
  errors: Record<string, number>;
  /** Mean of each part of Server-Timing over the right answers, in milliseconds. */
  timingMs: Record<string, number>;
  /** Points of the percentile curve: share of the right answers, and their latency in milliseconds. */
  curve: Array<[share: number, ms: number]>;
}

/** Shares at which the curve is reported, increasingly close to 1. */
const CURVE = [
  0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.997,
  0.998, 0.999, 0.9995, 0.9999, 1,
];
const MICROSECONDS = 1000;
const LONGEST_MS = 600_000;

/** Counts outcomes of one case. Latencies are those of right answers, kept in an HDR histogram of 3 digits. */
export class Tally {
  readonly #latencies: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LONGEST_MS * MICROSECONDS,
    numberOfSignificantValueDigits: 3,
  });
  readonly #errors: Record<string, number> = {};
  readonly #timing: Record<string, number> = {};
  #right = 0;
  #wrong = 0;
  #bytes = 0;

  add({ latencyMs, bytes, error, timing }: Outcome): void {
    this.#bytes += bytes;
    if (error !== null) {
      this.#wrong += 1;
      this.#errors[error] = (this.#errors[error] ?? 0) + 1;
      return;
    }
    this.#right += 1;
    this.#latencies.recordValue(Math.max(1, Math.min(LONGEST_MS, latencyMs) * MICROSECONDS));
    for (const [part, ms] of Object.entries(timing)) this.#timing[part] = (this.#timing[part] ?? 0) + ms;
  }

  result(seconds: number): CaseResult {
    const calls = this.#right + this.#wrong;
    return {
      calls,
      perSecond: rounded(this.#right / seconds),
      errorShare: calls === 0 ? 0 : rounded(this.#wrong / calls, 4),
      latencyMs: this.#latenciesMs(),
      bytesPerSecond: Math.round(this.#bytes / seconds),
      errors: this.#errors,
      timingMs: Object.fromEntries(
        Object.entries(this.#timing).map(([part, ms]) => [part, rounded(ms / this.#right)]),
      ),
      curve: this.#right === 0 ? [] : CURVE.map((share) => [share, this.#atMs(share)]),
    };
  }

  #latenciesMs(): Latencies {
    return {
      mean: this.#right === 0 ? 0 : rounded(this.#latencies.mean / MICROSECONDS),
      p50: this.#atMs(0.5),
      p90: this.#atMs(0.9),
      p95: this.#atMs(0.95),
      p99: this.#atMs(0.99),
      p999: this.#atMs(0.999),
      max: this.#right === 0 ? 0 : rounded(this.#latencies.maxValue / MICROSECONDS),
    };
  }

  #atMs(share: number): number {
    return this.#right === 0 ? 0 : rounded(this.#latencies.getValueAtPercentile(share * 100) / MICROSECONDS);
  }
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** The parts of `admit;dur=0.4, fetch;dur=3.1`; an unreadable part is left out. */
export function readServerTiming(header: string | undefined): Record<string, number> {
  const parts: Record<string, number> = {};
  for (const [, name = '', ms = ''] of (header ?? '').matchAll(/([a-z]+);dur=([\d.]+)/g))
    parts[name] = Number(ms);
  return parts;
}

/** Names the error of a refusal by its body, such as `rate_limited/account_concurrency`. */
export function readError(status: number, body: string): string {
  const [, code] = /"code":"(\w+)"/.exec(body) ?? [];
  const [, reason] = /"reason":"(\w+)"/.exec(body) ?? [];
  if (code === undefined) return `status ${status}`;
  return reason === undefined ? code : `${code}/${reason}`;
}
