import { Counter, collectDefaultMetrics, register } from 'prom-client';
import type { Tracing } from '../tracing/tracing.ts';
import { createOpMeter, type OpMeter } from './ops.ts';
import { createPoolMeter, type PoolMeter } from './pools.ts';
import { createRequestMeter, type RequestMeter } from './requests.ts';
import { createStoreMeter, type StoreMeter } from './stores.ts';

/** The metrics of a process. No label ever holds an account, an id or a text of a caller. */
export interface Meters {
  requests: RequestMeter;
  /** Connections that were closed with an answer, to have their clients connect to another process. */
  connectionsReleased: Counter;
  pools: PoolMeter;
  ops: OpMeter;
  stores: StoreMeter;
}

/**
 * Gauges of prom-client with the ending of a counter, which Prometheus' own checker refuses; the same counts stand
 * beside them by type.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * How often the event loop's delay is looked at, which wakes a process that has nothing to do. Every 10 ms, as
 * Prometheus' client does when left alone, was four fifths of what an idle process uses. The delays that are told
 * contain this time.
 */
const LOOP_LOOKED_AT_EVERY_MS = 50;

/**
 * Declares the metrics of this process from the start, in Prometheus' default register. Call it once, before any slice
 * opens: slices declare metrics of their own beside these.
 */
export function createMeters(tracing: Tracing): Meters {
  register.clear();
  collectDefaultMetrics({ eventLoopMonitoringPrecision: LOOP_LOOKED_AT_EVERY_MS });
  for (const name of MISNAMED) register.removeSingleMetric(name);
  return {
    requests: createRequestMeter(),
    connectionsReleased: new Counter({
      name: 'darkroom_connections_released_total',
      help: 'Kept connections that were closed with an answer, so that a less busy process takes the next calls of their clients.',
    }),
    pools: createPoolMeter(),
    ops: createOpMeter(tracing),
    stores: createStoreMeter(tracing),
  };
}
