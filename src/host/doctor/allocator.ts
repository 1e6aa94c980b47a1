import type { Settings } from '../../../config/index.ts';
import { chooseAllocator } from '../processes/allocator.ts';
import { type Finding, ok, problem, reasonOf, warning } from './finding.ts';

/** The memory allocator. */
export function judgeAllocator({ processes }: Settings): Finding {
  try {
    const { name } = chooseAllocator(processes.ALLOCATOR);
    return name === 'system'
      ? warning(
          "Memory is taken from the system's allocator, which gives little back.",
          'Install libjemalloc2.',
        )
      : ok(`Memory is taken from ${name}.`);
  } catch (error) {
    return problem(reasonOf(error), 'Leave ALLOCATOR out, or name a library that is there.');
  }
}
