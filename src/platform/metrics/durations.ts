import { type Histogram, type MetricValueWithName, register } from 'prom-client';

/** Records one duration in seconds. */
export type DurationObserver = (seconds: number) => void;

/** One series of the histogram: a set of labels, and what was observed for it. */
interface HistogramSeries {
  labels: Record<string, string>;
  /** The number of observations in each bucket, not cumulative. The last bucket is above all bounds. */
  counts: number[];
  sum: number;
}

interface DurationHistogramOptions<L extends string> {
  name: string;
  help: string;
  labelNames: readonly L[];
  /** Upper bounds in seconds, ascending. */
  bounds: readonly number[];
}

/**
 * A histogram in Prometheus' default register. Its labels are given once, so that an observation is one addition. The
 * histogram of the Prometheus client builds a key from the labels at each observation, which costs more than all checks
 * before a call.
 */
export class DurationHistogram<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  /** The values of several processes are added up. */
  readonly aggregator = 'sum';
  readonly labelNames: readonly L[];
  readonly #bounds: readonly number[];
  readonly #series: HistogramSeries[] = [];

  constructor({ name, help, labelNames, bounds }: DurationHistogramOptions<L>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.#bounds = bounds;
    // The register only uses the name and `get` of a metric, but its type accepts only the client's own classes.
    register.registerMetric(this as unknown as Histogram);
  }

  /**
   * Creates an observer for these labels. Call it once per series and keep the observer, because each call starts a new
   * series.
   */
  createObserver(labels: Record<L, string>): DurationObserver {
    const bounds = this.#bounds;
    const series: HistogramSeries = {
      labels,
      counts: Array.from({ length: bounds.length + 1 }, () => 0),
      sum: 0,
    };
    const { counts } = series;
    this.#series.push(series);
    return (seconds) => {
      let bucket = 0;
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      series.sum += seconds;
    };
  }

  /** The observations in the form of the Prometheus client. */
  async get() {
    const { name, help, type, aggregator } = this;
    return {
      name,
      help,
      type,
      aggregator,
      values: this.#series.flatMap((series) => this.#samplesOf(series)),
    };
  }

  reset(): void {
    for (const series of this.#series) {
      series.counts.fill(0);
      series.sum = 0;
    }
  }

  #samplesOf({ labels, counts, sum }: HistogramSeries): MetricValueWithName<string>[] {
    const { name } = this;
    let count = 0;
    const buckets = counts.map((ofBucket, at) => {
      count += ofBucket;
      const le = this.#bounds[at] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    if (count === 0) return [];
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
