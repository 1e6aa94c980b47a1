import type { PoolMeter } from '../../platform/metrics/pools.ts';
import type { Pixels, Work } from './pixels.ts';
import type { PoolReport } from './pools/pools.ts';

/** The image pool, with a count of its work and of the time that each piece waited. */
export function meteredPixels(pixels: Pixels, meter: PoolMeter): Pixels {
  function counted<T extends { queueMs: number }>(
    kind: string,
    work: 'call' | 'job',
    begun: Work<T>,
  ): Work<T> {
    const labels = { pool: 'image', work, kind };
    begun.result.then(
      ({ queueMs }) => meter.worked(labels, queueMs / 1000, 'done'),
      () => meter.worked(labels, 0, 'failed'),
    );
    return begun;
  }
  return {
    ...pixels,
    transform: (call) => counted('transform', call.work ?? 'call', pixels.transform(call)),
    describe: (call) => counted('describe', call.work ?? 'call', pixels.describe(call)),
  };
}

/** Counts the worker time of the pools. In the metrics, the pool of quick passes is named `image`. */
export function reportingTo(meter: PoolMeter): (report: PoolReport) => void {
  return (report) => meter.ended({ ...report, pool: report.pool === 'quick' ? 'image' : report.pool });
}
