import { Gauge } from 'prom-client';

/**
 * Declares the metric of the shared clock.
 * @param differenceMs returns its difference from the clock of this host; called at every scrape.
 */
export function meterClock(differenceMs: () => number): void {
  new Gauge({
    name: 'darkroom_clock_difference_seconds',
    help: 'Between the clock of this host and the one that all hosts share (of Redis), ahead or behind.',
    aggregator: 'max',
    collect() {
      this.set(Math.abs(differenceMs()) / 1_000);
    },
  });
}
