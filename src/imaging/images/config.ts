import { usableMemoryBytes } from '../../platform/concurrency/control-group.ts';
import { choiceSetting, integerSetting } from '../../platform/setting.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';

export const imagesSettings = {
  IMAGE_THREADS: integerSetting({
    description:
      'Threads of each API process that decode, process and encode images. Items of large jobs are processed by as many child processes, at a low priority.',
    fallback: 1,
    min: 1,
    max: 64,
  }),
  IMAGE_ISOLATION: choiceSetting({
    description:
      'Where quick passes run: in a thread of the API process, or in a child process, which isolates the decoders and costs some milliseconds per call. Passes that are expected to take longer than 300 ms always run in a child process.',
    fallback: 'thread',
    values: ['thread', 'process'],
  }),
  IMAGE_HEAVY_SLOTS: integerSetting({
    description:
      'How many passes that may take longer than 2 s each API process runs at once, at a low priority; an account has one while others wait. Calls do not wait for items of jobs there, so that twice as many may run while there is memory for them.',
    fallback: 2,
    min: 1,
    max: 64,
  }),
  IMAGE_ACCOUNT_SECONDS: integerSetting({
    description:
      'Worker time that the calls of one account may use in a minute, in seconds of CPU time per image thread. Past it, while other accounts call, its passes and its pages run at the lowest priority and get only slots that nobody else waits for. The time in which a browser draws its pages counts, and so do refused and late passes; items of jobs do not.',
    fallback: 30,
    min: 1,
    max: 3_600,
  }),
  IMAGE_PROCESS_MEMORY_MEGABYTES: integerSetting({
    description: 'Memory that a process which runs image passes may allocate.',
    fallback: 4_096,
    min: 256,
    max: 65_536,
  }),
  IMAGE_WAIT_MS: integerSetting({
    description:
      'In an overload (calls have waited for a second without a break), a call that would wait longer for its thread is refused at once, with that wait as Retry-After, and so are the waiting ones that would take a third longer in all, with their bodies and their work. Shorter bursts are served as long as their deadlines allow.',
    fallback: 1_500,
    min: 50,
    max: 60_000,
  }),
  IMAGE_QUEUE: integerSetting({
    description:
      'Image calls of each API process that may wait for a thread; further ones are refused with 503 capacity.',
    fallback: 64,
    min: 0,
    max: 10_000,
  }),
  IMAGE_MEMORY_MEGABYTES: integerSetting({
    description:
      'Memory that the image calls running at once in an API process may take, as estimated before they start. Passes that may take longer than 300 ms, those that may take longer than 2 s, and items of large jobs each have half as much for themselves.',
    fallback: 0,
    defaultText: 'a quarter of the memory of the machine, shared by its API processes',
    min: 64,
    max: 1_048_576,
  }),
  TRANSFORM_TIMEOUT_MS: integerSetting({
    description: 'Time that a transform or a metadata call may take, from the request to its answer.',
    fallback: 10_000,
    min: 100,
    max: 60_000,
  }),
  VECTOR_TIMEOUT_MS: integerSetting({
    description: 'Time that one SVG may take to draw; its rasterizer is killed when it passes.',
    fallback: 5_000,
    min: 100,
    max: 60_000,
  }),
  VECTOR_MEMORY_MEGABYTES: integerSetting({
    description: 'Memory that the rasterizer of an API process may allocate.',
    fallback: 2_048,
    min: 256,
    max: 65_536,
  }),
};

/**
 * The image pools of all API processes together get half of the memory of the host. Browsers, stores and code get the
 * other half.
 */
const MEMORY_DIVISOR = 2;
/**
 * Slow passes, heavy passes and items of large jobs each have a budget of their own: the quick budget divided by this
 * number.
 */
const QUICK_BUDGET_DIVISOR = 2;
/** The budget of all pools together, as a multiple of the quick budget. */
const ALL_POOLS_BUDGET_FACTOR = 1 + 3 / QUICK_BUDGET_DIVISOR;

/** The estimated memory in bytes that the image work of one API process may take at once, per pool. */
interface ImageMemoryBudgets {
  quickBytes: number;
  slowBytes: number;
  heavyBytes: number;
  batchBytes: number;
}

/**
 * The memory budgets of each API process, for the pools and for the doctor.
 * @param settingMegabytes IMAGE_MEMORY_MEGABYTES; 0 divides half of the memory among all pools of all processes.
 */
export function imageMemoryBudgets(
  settingMegabytes: number,
  processes: number,
  memoryBytes = usableMemoryBytes(),
): ImageMemoryBudgets {
  const shareBytes = memoryBytes / MEMORY_DIVISOR / ALL_POOLS_BUDGET_FACTOR / processes;
  const quickBytes = settingMegabytes > 0 ? settingMegabytes * MEGABYTE_BYTES : shareBytes;
  const partBytes = quickBytes / QUICK_BUDGET_DIVISOR;
  return { quickBytes, slowBytes: partBytes, heavyBytes: partBytes, batchBytes: partBytes };
}
