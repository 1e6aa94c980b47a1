import { Gauge } from 'prom-client';

export interface ClockMeter {
  /** Milliseconds between the clock of this host and the shared one, asked at every scrape. */
  watch(differenceMs: () => number): void;
}

export function createClockMeter(): ClockMeter {
  return {
    watch(differenceMs) {
      new Gauge({
        name: 'darkroom_clock_difference_seconds',
        help: 'Between the clock of this host and the one that all hosts share (of Redis), ahead or behind.',
        aggregator: 'max',
        collect() {
          this.set(Math.abs(differenceMs()) / 1_000);
        },
      });
    },
  };
}
