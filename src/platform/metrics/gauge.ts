import { Gauge } from 'prom-client';

/**
 * Declares a gauge that is read at each scrape. While it cannot be read, it keeps its last value, so that reading the
 * other metrics does not fail.
 * @param aggregator how the values of several processes are combined; `max` if all of them read the same value.
 */
export function declareGauge(
  name: string,
  help: string,
  read: () => number | Promise<number>,
  aggregator: 'sum' | 'max' = 'sum',
): void {
  new Gauge({
    name,
    help,
    aggregator,
    async collect() {
      const value = await Promise.try(read).catch(() => null);
      if (value !== null) this.set(value);
    },
  });
}
