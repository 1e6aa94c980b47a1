import { type Histogram, type MetricObjectWithValues, type MetricValueWithName, register } from 'prom-client';

/** Takes one duration in seconds. */
export type Observer = (seconds: number) => void;

/** The observations of one set of labels. */
interface Series {
  labels: Record<string, string>;
  /** How many fell into each bucket and into none before it; the last is above all bounds. */
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
 * A histogram for what is observed at every call: its labels are given once, and an observation is one addition. The
 * client's own histogram makes a key of the labels at each, which costs a small call more than its gate.
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

  /** The observer of these labels, which the caller keeps: each call begins a series of its own. */
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
