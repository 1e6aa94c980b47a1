import { type Histogram, type MetricObjectWithValues, type MetricValueWithName, register } from 'prom-client';

/** Takes one duration in seconds. */
export type Observer = (seconds: number) => void;

/** The observations of one set of labels. */
interface Series {
  labels: Record<string, string>;
  /** The number of observations in each bucket, not cumulated; the last bucket is above all bounds. */
  counts: number[];
  sum: number;
}

interface DurationsOptions<L extends string> {
  name: string;
  help: string;
  labelNames: readonly L[];
  /** Upper bounds in seconds, ascending. */
  bounds: readonly number[];
}

/**
 * A histogram for observations at every call: its labels are given once, and an observation is one addition. The
 * histogram of the Prometheus client builds a key from the labels at each observation, which costs more than the gate.
 */
export class Durations<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  readonly type = 'histogram';
  /** The sum over several processes. */
  readonly aggregator = 'sum' as const;
  readonly #bounds: readonly number[];
  #series: Series[] = [];

  /** Declares the metric in Prometheus' default register. */
  constructor({ name, help, labelNames, bounds }: DurationsOptions<L>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.#bounds = bounds;
    // The register asks a metric for its name and for `get`; its type names the client's own classes alone.
    register.registerMetric(this as unknown as Histogram);
  }

  /** Creates an observer for these labels, which the caller must keep: each call of `observer` begins a new series. */
  observerOf(labels: Record<L, string>): Observer {
    const series: Series = {
      labels,
      counts: Array.from({ length: this.#bounds.length + 1 }, () => 0),
      sum: 0,
    };
    const { counts } = series;
    const bounds = this.#bounds;
    this.#series.push(series);
    return (seconds) => {
      let bucket = 0;
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      series.sum += seconds;
    };
  }

  /** The observations in the form of Prometheus' client. */
  async get(): Promise<
    Omit<MetricObjectWithValues<MetricValueWithName<string>>, 'type' | 'collect'> & { type: string }
  > {
    const { name, help, type, aggregator } = this;
    const values = this.#series.flatMap((series) => this.#valuesOf(series));
    return { name, help, type, aggregator, values };
  }

  /** Resets every series. */
  reset(): void {
    for (const series of this.#series) {
      series.counts.fill(0);
      series.sum = 0;
    }
  }

  #valuesOf({ labels, counts, sum }: Series): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = counts.map((ofBucket, at) => {
      count += ofBucket;
      return {
        metricName: `${this.name}_bucket`,
        labels: { le: this.#bounds[at] ?? '+Inf', ...labels },
        value: count,
      };
    });
    return count === 0
      ? []
      : [
          ...buckets,
          { metricName: `${this.name}_sum`, labels, value: sum },
          { metricName: `${this.name}_count`, labels, value: count },
        ];
  }
}
