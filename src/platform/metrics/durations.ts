import { type Histogram, type MetricValueWithName, register } from 'prom-client';

/** Records one duration in seconds. */
export type Observer = (seconds: number) => void;

/** The observations of one set of labels. */
interface Series {
  labels: Record<string, string>;
  /** The number of observations in each bucket, not cumulated; the last bucket is above all bounds. */
  counts: number[];
  sum: number;
}

interface Durations<L extends string> {
  /** Creates an observer for these labels, which the caller must keep: each call of it begins a new series. */
  observerOf(labels: Record<L, string>): Observer;
  /** The observations in the form of Prometheus' client. */
  get(): Promise<{ values: MetricValueWithName<string>[] }>;
  /** Resets every series. */
  reset(): void;
}

interface DurationsOptions<L extends string> {
  name: string;
  help: string;
  labelNames: readonly L[];
  /** Upper bounds in seconds, ascending. */
  bounds: readonly number[];
}

/**
 * Declares a histogram in Prometheus' default register whose labels are given once, so that an observation is one
 * addition. The histogram of the Prometheus client builds a key from the labels at each
 * observation, which costs more than the gate.
 */
export function createDurations<L extends string>(options: DurationsOptions<L>): Durations<L> {
  const { name, help, labelNames, bounds } = options;
  const all: Series[] = [];

  function valuesOf({ labels, counts, sum }: Series): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = counts.map((ofBucket, at) => {
      count += ofBucket;
      return { metricName: `${name}_bucket`, labels: { le: bounds[at] ?? '+Inf', ...labels }, value: count };
    });
    if (count === 0) return [];
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }

  // The sum over several processes.
  const description = { name, help, type: 'histogram', aggregator: 'sum' } as const;
  const durations = {
    ...description,
    labelNames,
    observerOf(labels: Record<L, string>): Observer {
      const series: Series = { labels, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
      const { counts } = series;
      all.push(series);
      return (seconds) => {
        let bucket = 0;
        while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
        counts[bucket] = (counts[bucket] ?? 0) + 1;
        series.sum += seconds;
      };
    },
    get: async () => ({ ...description, values: all.flatMap(valuesOf) }),
    reset(): void {
      for (const series of all) {
        series.counts.fill(0);
        series.sum = 0;
      }
    },
  };
  // The register only uses the name and `get` of a metric, but its type accepts only the client's own classes.
  register.registerMetric(durations as unknown as Histogram);
  return durations;
}
