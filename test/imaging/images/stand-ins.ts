import type { Test } from 'tap';
import { ImageWorkers, type ImageWorkersOptions } from '../../../src/imaging/images/image-workers.ts';
import type { Capacity } from '../../../src/platform/concurrency/capacity.ts';
import { smallCapacity } from '../../support/capacity.ts';
import { type ManualClock, manualClock } from '../../support/clock.ts';

const SETTINGS: ImageWorkersOptions['settings'] = {
  IMAGE_THREADS: 1,
  IMAGE_ISOLATION: 'thread',
  IMAGE_HEAVY_SLOTS: 1,
  IMAGE_ACCOUNT_SECONDS: 30,
  IMAGE_WAIT_MS: 1_000,
  IMAGE_PROCESS_MEMORY_MEGABYTES: 1_024,
  IMAGE_QUEUE: 2,
  IMAGE_MEMORY_MEGABYTES: 512,
  TRANSFORM_TIMEOUT_MS: 10_000,
  VECTOR_TIMEOUT_MS: 10_000,
  VECTOR_MEMORY_MEGABYTES: 2_048,
};

/** Pixels whose thread and processes are stand-ins that each task controls, on a clock that the test moves. */
export function openStandIns(
  t: Test,
  settings: Partial<ImageWorkersOptions['settings']> = {},
  options: Pick<ImageWorkersOptions, 'meter' | 'workersCpuMs' | 'processCpuMs'> = {},
): { workers: ImageWorkers; clock: ManualClock; capacity: Capacity } {
  const clock = manualClock();
  const all = { ...SETTINGS, ...settings };
  const capacity = smallCapacity(all);
  const workers = new ImageWorkers({
    settings: all,
    capacity,
    log: { warn: () => {} },
    clock,
    threadFile: new URL('./stand-in-thread.ts', import.meta.url),
    processFile: new URL('./stand-in-process.ts', import.meta.url),
    ...options,
  });
  t.teardown(() => workers.close());
  return { workers, clock, capacity };
}
