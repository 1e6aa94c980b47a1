import { type ChangeableCapacity, createCapacity } from '../../src/platform/capacity/capacity.ts';

/** One process with one thread of each kind, unless a test says otherwise. */
export function smallCapacity(imageThreads = 1): ChangeableCapacity {
  return createCapacity({ PROCESSES: 1, IMAGE_THREADS: imageThreads, RENDER_THREADS: 1 });
}
