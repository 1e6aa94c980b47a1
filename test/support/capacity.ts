import { Capacity, type CapacitySetting } from '../../src/platform/concurrency/capacity.ts';

/** One process with one thread of each kind, unless a test sets others. */
export function smallCapacity(settings: Readonly<Partial<Record<CapacitySetting, number>>> = {}): Capacity {
  return new Capacity({
    PROCESSES: 1,
    IMAGE_THREADS: 1,
    RENDER_THREADS: 1,
    IMAGE_QUEUE: 64,
    IMAGE_WAIT_MS: 1_500,
    JOB_ITEMS: 1_000,
    WEBHOOK_CONCURRENCY: 1_024,
    ...settings,
  });
}
