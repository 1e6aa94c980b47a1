import type { Settings } from '../../../config/index.ts';
import { imageMemoryBudgets } from '../../imaging/images/budgets.ts';
import { MAX_FURTHER_BROWSERS } from '../../imaging/renders/renders.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import { chooseAllocator } from '../processes/allocator.ts';
import { fittingProcesses, grantedCores } from '../processes/cpu-quota.ts';
import { type Finding, ok, problem, reasonOf, warning } from './finding.ts';
import type { HostFacts } from './host-facts.ts';

/** The memory of an API process without pictures. */
const PROCESS_BYTES = 200 * MEGABYTE;
const MIN_OPEN_FILES = 1_024;
const ENOUGH_OPEN_FILES = 8_192;
/** Threads and processes of one API process with its browser. */
const TASKS_PER_PROCESS = 100;
/** The heap that an API process needs at least, with the descriptions of all its routes. */
const MIN_HEAP_BYTES = 256 * MEGABYTE;

/** Compares cores, memory, limits and fonts with the settings. */
export function judgeHost(facts: HostFacts, settings: Settings): Finding[] {
  return [
    judgeNode(facts),
    judgeCores(facts, settings),
    judgeLibuv(facts, settings),
    judgeMemory(facts, settings),
    judgeOpenFiles(facts),
    judgeTasks(facts, settings),
    judgeHeap(facts),
    judgeImageWait(settings),
    ...judgeFonts(facts),
  ];
}

/** The memory allocator. */
export function judgeAllocator({ processes }: Settings): Finding {
  try {
    const { name } = chooseAllocator(processes.ALLOCATOR);
    if (name !== 'system') return ok(`The memory allocator is ${name}.`);
    const message = "The memory allocator is the system's, which returns little memory.";
    return warning(message, 'Install libjemalloc2.');
  } catch (error) {
    return problem(reasonOf(error), 'Leave ALLOCATOR out, or name a library that exists.');
  }
}

function judgeNode({ nodeVersion }: HostFacts): Finding {
  if (Number.parseInt(nodeVersion, 10) >= 24) return ok(`Node.js is ${nodeVersion}.`);
  const message = `Node.js is ${nodeVersion}, and 24 is needed.`;
  return problem(message, 'Start the service by npm, which brings its own.');
}

function judgeCores(
  { cores, quotaCores }: HostFacts,
  { processes: { PROCESSES }, images: { IMAGE_THREADS } }: Settings,
): Finding {
  const granted = grantedCores(quotaCores, cores);
  const threads = PROCESSES * IMAGE_THREADS;
  const message = `${round(granted)} cores are granted, and PROCESSES × IMAGE_THREADS is ${PROCESSES} × ${IMAGE_THREADS}.`;
  const fitting = fittingProcesses(quotaCores, cores);
  if (threads > Math.ceil(granted))
    return warning(message, `Set PROCESSES to ${fitting} and IMAGE_THREADS to 1, or run npm run tune.`);
  const remedy = `Set PROCESSES to ${Math.floor(granted)}, so that no core is idle, or run npm run tune.`;
  return threads <= granted / 2 ? warning(message, remedy) : ok(message);
}

/** Checks the number of libuv's threads, which decode pictures and also serve file reads and DNS queries. */
function judgeLibuv({ libuvThreads: given }: HostFacts, { images: { IMAGE_THREADS } }: Settings): Finding {
  if (!given) return ok("libuv's threads follow IMAGE_THREADS.");
  const message = `UV_THREADPOOL_SIZE is ${JSON.stringify(given)}.`;
  if (/^\d+$/.test(given) && Number(given) > IMAGE_THREADS) return ok(message);
  const remedy = `Leave it out, or set it above IMAGE_THREADS (${IMAGE_THREADS}): file reads wait for pictures otherwise.`;
  return warning(message, remedy);
}

/**
 * Adds up all memory budgets of the processes, and names each of them. Additional browsers besides those of the render
 * threads are mentioned, but are no fault: they are rare, and Linux ends them first when memory runs out.
 */
function judgeMemory({ memoryBytes }: HostFacts, { processes, images, renders }: Settings): Finding {
  const { PROCESSES } = processes;
  const budgets = imageMemoryBudgets(images.IMAGE_MEMORY_MEGABYTES, PROCESSES, memoryBytes);
  const { quickBytes, slowBytes, heavyBytes, batchBytes } = budgets;
  const perProcess = {
    'quick passes': quickBytes,
    'slow passes': slowBytes,
    'heavy passes': heavyBytes,
    'large jobs': batchBytes,
    browsers: renders.RENDER_THREADS * renders.RENDER_MEMORY_MEGABYTES * MEGABYTE,
    code: PROCESS_BYTES,
  };
  const pictures = PROCESSES * (quickBytes + slowBytes + heavyBytes + batchBytes);
  const needed = PROCESSES * Object.values(perProcess).reduce((sum, bytes) => sum + bytes, 0);
  const furtherBrowsers = PROCESSES * MAX_FURTHER_BROWSERS;
  const furtherBytes = furtherBrowsers * renders.RENDER_MEMORY_MEGABYTES * MEGABYTE;
  const parts = Object.entries(perProcess).map(([part, bytes]) => `${part} ${megabytes(bytes)}`);
  const message = `Up to ${megabytes(needed)} MB may be in use, of ${megabytes(memoryBytes)} MB (the memory of the machine, or the limit of its control group): ${PROCESSES} × (${parts.join(' + ')}). For some minutes after a slow page, ${furtherBrowsers} further browsers may take ${megabytes(furtherBytes)} MB more.`;
  const lowerPictures =
    'Lower IMAGE_MEMORY_MEGABYTES or PROCESSES: the system would kill processes under load.';
  if (pictures > memoryBytes) return problem(message, lowerPictures);
  const lowerAny = 'Lower PROCESSES, IMAGE_MEMORY_MEGABYTES, RENDER_THREADS or RENDER_MEMORY_MEGABYTES.';
  return needed > memoryBytes ? warning(message, lowerAny) : ok(message);
}

function judgeOpenFiles({ openFiles }: HostFacts): Finding {
  if (openFiles === null) return ok('The limit of open files cannot be read here.');
  const message = `A process may have ${openFiles} open files.`;
  const remedy = `Raise nofile to ${ENOUGH_OPEN_FILES} (LimitNOFILE of systemd, --ulimit of Docker): each connection is one.`;
  if (openFiles < MIN_OPEN_FILES) return problem(message, remedy);
  return openFiles < ENOUGH_OPEN_FILES ? warning(message, remedy) : ok(message);
}

function judgeTasks({ tasks }: HostFacts, { processes: { PROCESSES } }: Settings): Finding {
  if (tasks === null) return ok('No limit of processes is set.');
  const needed = TASKS_PER_PROCESS * (PROCESSES + 1);
  const message = `${tasks} processes and threads are granted, and about ${needed} are needed.`;
  return tasks < needed
    ? problem(message, `Raise pids.max (TasksMax of systemd) to ${2 * needed}.`)
    : ok(message);
}

/** Checks the heap limit. Node.js takes about half of the memory by default, so a smaller limit was set by somebody. */
function judgeHeap({ heapBytes }: HostFacts): Finding {
  const message = `The heap of a process may grow to ${megabytes(heapBytes)} MB.`;
  const remedy =
    'Take --max-old-space-size out of NODE_OPTIONS, or raise it to 512: a process dies at its limit.';
  return heapBytes < MIN_HEAP_BYTES ? problem(message, remedy) : ok(message);
}

function judgeImageWait({ images: { IMAGE_WAIT_MS, TRANSFORM_TIMEOUT_MS } }: Settings): Finding {
  const message = `A call waits for at most ${IMAGE_WAIT_MS} ms in an overload, and ends after ${TRANSFORM_TIMEOUT_MS} ms.`;
  if (IMAGE_WAIT_MS < TRANSFORM_TIMEOUT_MS) return ok(message);
  return warning(
    message,
    'Set IMAGE_WAIT_MS below TRANSFORM_TIMEOUT_MS: calls wait in vain otherwise, and end as 503 deadline_exceeded.',
  );
}

/** Scripts in which templates are often written, by the Debian package that has their fonts. */
const SCRIPTS_OF_PACKAGES = {
  'fonts-dejavu-core': ['Latin', 'Greek', 'Cyrillic', 'Arabic', 'Hebrew'],
  'fonts-noto-color-emoji': ['Emoji'],
  'fonts-noto-core': ['Devanagari', 'Bengali', 'Tamil', 'Thai'],
  'fonts-noto-cjk': ['Han', 'Hiragana', 'Katakana', 'Hangul'],
};

function* judgeFonts({ fonts, missingFontconfig }: HostFacts): Generator<Finding> {
  if (missingFontconfig !== null)
    yield problem(
      `FONTCONFIG_FILE names ${missingFontconfig}, which does not exist: browsers and drawings find no font.`,
      'Correct it, or leave it out.',
    );
  if (fonts.length === 0) {
    yield problem(
      'There is no font: templates draw no text.',
      'Leave FONTCONFIG_FILE out: the service has fonts of its own.',
    );
    return;
  }
  yield ok(`There are ${fonts.length} font families.`);
  for (const [name, wanted] of Object.entries(SCRIPTS_OF_PACKAGES)) {
    const missing = wanted.filter((script) => !fonts.some(({ scripts }) => scripts.includes(script)));
    if (missing.length > 0)
      yield warning(
        `No font draws ${missing.join(', ')}.`,
        `Install ${name} if templates or texts use them.`,
      );
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE);
}

function round(cores: number): number {
  return Math.round(cores * 10) / 10;
}
