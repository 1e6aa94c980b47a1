// needs: nothing
import perfHooks from 'node:perf_hooks';
import { register } from 'prom-client';
import t from 'tap';
import { createMeters } from '../../../src/platform/metrics/meters.ts';
import { openTracing } from '../../../src/platform/tracing/open.ts';

t.test('the delay of the event loop wakes an idle process at most five times per second', async (t) => {
  const resolutionsMs: (number | undefined)[] = [];
  const monitor = perfHooks.monitorEventLoopDelay;
  t.teardown(() => {
    perfHooks.monitorEventLoopDelay = monitor;
    register.clear();
  });
  perfHooks.monitorEventLoopDelay = (options) => {
    resolutionsMs.push(options?.resolution);
    return monitor(options);
  };
  createMeters(await openTracing({}));
  t.equal(resolutionsMs.length, 1);
  t.ok((resolutionsMs[0] ?? 0) >= 200, `is looked at every ${resolutionsMs[0]} ms`);
});
