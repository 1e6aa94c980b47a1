import { Counter, collectDefaultMetrics, register } from 'prom-client';
import type { Tracing } from '../tracing/tracing.ts';
import { declareGauge } from './gauge.ts';
import { RequestMeter } from './requests.ts';
import { StoreMeter } from './stores.ts';
import { OpMeter, PoolMeter } from './work.ts';

/** The metrics of a process. No label ever holds an account, an id or a text of a caller. */
export interface ProcessMeters {
  requests: RequestMeter;
  /** Connections that were closed with an answer, so that their clients connect to another process. */
  connectionsReleased: Counter;
  pools: PoolMeter;
  ops: OpMeter;
  stores: StoreMeter;
}

/**
 * Gauges of prom-client whose names end like counters, which Prometheus' own checker refuses. Other gauges report the
 * same counts by type.
 */
const MISNAMED_GAUGES = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * The interval between two measurements of the delay of the event loop. Each measurement wakes an idle process. At 10
 * ms, the default of Prometheus' client, measuring takes four fifths of the CPU time of such a process, and at 50 ms
 * half of it. The reported delays include this interval.
 */
const LOOP_DELAY_INTERVAL_MS = 200;

/**
 * Declares the metrics of this process in Prometheus' default register. Call it once, before any slice opens and
 * declares its own.
 */
export function createMeters(tracing: Tracing): ProcessMeters {
  register.clear();
  collectDefaultMetrics({ eventLoopMonitoringPrecision: LOOP_DELAY_INTERVAL_MS });
  for (const name of MISNAMED_GAUGES) register.removeSingleMetric(name);
  return {
    requests: new RequestMeter(),
    connectionsReleased: new Counter({
      name: 'darkroom_connections_released_total',
      help: 'Kept connections that were closed with an answer, so that a less busy process takes the next calls of their clients.',
    }),
    pools: new PoolMeter(),
    ops: new OpMeter(tracing),
    stores: new StoreMeter(tracing),
  };
}

/**
 * Declares the metric of the shared clock.
 * @param differenceMs returns the difference between the shared clock and the clock of this host. It is called at every
 * scrape.
 */
export function declareClockDifferenceGauge(differenceMs: () => number): void {
  declareGauge(
    'darkroom_clock_difference_seconds',
    'Between the clock of this host and the one that all hosts share (of Redis), ahead or behind.',
    () => Math.abs(differenceMs()) / 1_000,
    'max',
  );
}
