import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { Gauge, register } from 'prom-client';
import { type LongestTurn, watchTurns } from './turns.ts';

/** The metrics of the longest turn of the event loops of all API processes since they were last read. */
export const TURN_METRICS = {
  ms: 'bench_longest_turn_milliseconds',
  cpuMs: 'bench_longest_turn_cpu_milliseconds',
} as const satisfies Record<keyof LongestTurn, string>;

const DECLARED_EVERY_MS = 500;

// Preloaded into a service that is measured. Its own metrics look at the event loop far too rarely for a turn of 50 ms,
// so that an idle process is left alone.
if (cluster.isWorker && isMainThread) {
  const longestTurn = watchTurns();
  let turn = longestTurn();
  const declare = () => {
    // The service clears the metrics when it starts.
    if (register.getSingleMetric(TURN_METRICS.ms) !== undefined) return;
    new Gauge({
      name: TURN_METRICS.ms,
      help: 'Longest turn of the event loop since the last scrape.',
      aggregator: 'max',
      collect() {
        turn = longestTurn();
        this.set(turn.ms);
      },
    });
    new Gauge({
      name: TURN_METRICS.cpuMs,
      help: 'CPU time of the turn that took most of it.',
      aggregator: 'max',
      collect() {
        this.set(turn.cpuMs);
      },
    });
  };
  setInterval(declare, DECLARED_EVERY_MS).unref();
}
