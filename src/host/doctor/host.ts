import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Settings } from '../../../config/index.ts';
import { type FontFamily, InstalledFonts } from '../../imaging/fonts/fonts.ts';
import { imageMemoryBudgets } from '../../imaging/images/config.ts';
import { MAX_ADDITIONAL_BROWSERS } from '../../imaging/renders/renders.ts';
import {
  defaultProcessCount,
  grantedCores,
  readControlGroupLimits,
  readKernelFile,
  usableMemoryBytes,
} from '../../platform/concurrency/control-group.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { chooseAllocator } from '../processes/memory.ts';
import {
  type DoctorFinding,
  innermostMessageOf,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';

/** The facts of this host. A fact is null if it cannot be read, or if there is no such limit. */
export interface HostFacts {
  cores: number;
  /** The cores that the control group grants, such as 1.5. */
  quotaCores: number | null;
  /** The memory of the machine, or the limit of the control group if that is smaller. */
  memoryBytes: number;
  maxOpenFiles: number | null;
  /** The control group's limit on processes and threads. */
  maxTasks: number | null;
  /** The largest heap of a process under the NODE_OPTIONS of this environment. */
  heapBytes: number;
  /** The fonts for pages and text, including those that come with the service. */
  fonts: readonly FontFamily[];
  /** The file that FONTCONFIG_FILE names, if it is missing. */
  missingFontconfig: string | null;
  nodeVersion: string;
  /** The environment variable UV_THREADPOOL_SIZE; undefined if it is not set. */
  libuvThreads: string | undefined;
}

export async function readHostFacts(): Promise<HostFacts> {
  const { FONTCONFIG_FILE } = process.env;
  const limits = readControlGroupLimits();
  return {
    cores: availableParallelism(),
    quotaCores: limits.cores,
    memoryBytes: usableMemoryBytes(),
    maxOpenFiles: readMaxOpenFiles(),
    maxTasks: limits.tasks,
    heapBytes: getHeapStatistics().heap_size_limit,
    fonts: await new InstalledFonts().list(),
    missingFontconfig: FONTCONFIG_FILE && !existsSync(FONTCONFIG_FILE) ? FONTCONFIG_FILE : null,
    nodeVersion: process.versions.node,
    libuvThreads: process.env.UV_THREADPOOL_SIZE,
  };
}

function readMaxOpenFiles(): number | null {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readKernelFile('/proc/self/limits') ?? '') ?? [];
  return soft === undefined ? null : Number(soft);
}

/** The memory of an API process that holds no pictures. */
const BASE_PROCESS_BYTES = 200 * MEGABYTE_BYTES;
const MIN_OPEN_FILES = 1_024;
const RECOMMENDED_OPEN_FILES = 8_192;
/** The number of threads and processes that one API process and its browser need. */
const TASKS_PER_PROCESS = 100;
/** The smallest heap limit that is enough for an API process, which holds the schemas of all routes. */
const MIN_HEAP_BYTES = 256 * MEGABYTE_BYTES;

/** The findings about the cores, memory, limits and fonts of the host, and whether the settings suit them. */
export function hostFindings(facts: HostFacts, settings: Settings): DoctorFinding[] {
  return [
    nodeVersionFinding(facts),
    coresFinding(facts, settings),
    libuvThreadsFinding(facts, settings),
    memoryFinding(facts, settings),
    openFilesFinding(facts),
    taskLimitFinding(facts, settings),
    heapLimitFinding(facts),
    imageWaitFinding(settings),
    ...fontFindings(facts),
  ];
}

/** The finding about the memory allocator. */
export function allocatorFinding({ processes }: Settings): DoctorFinding {
  try {
    const { name } = chooseAllocator(processes.ALLOCATOR);
    if (name !== 'system') return okFinding(`The memory allocator is ${name}.`);
    const message = "The memory allocator is the system's, which returns little memory.";
    return warningFinding(message, 'Install libjemalloc2.');
  } catch (error) {
    return problemFinding(innermostMessageOf(error), 'Leave ALLOCATOR out, or name a library that exists.');
  }
}

function nodeVersionFinding({ nodeVersion }: HostFacts): DoctorFinding {
  if (Number.parseInt(nodeVersion, 10) >= 24) return okFinding(`Node.js is ${nodeVersion}.`);
  const message = `Node.js is ${nodeVersion}, and 24 is needed.`;
  return problemFinding(message, 'Start the service by npm, which brings its own.');
}

function coresFinding(
  { cores, quotaCores }: HostFacts,
  { processes: { PROCESSES }, images: { IMAGE_THREADS } }: Settings,
): DoctorFinding {
  const coresGranted = grantedCores(quotaCores, cores);
  const threads = PROCESSES * IMAGE_THREADS;
  const message = `${roundCores(coresGranted)} cores are granted, and PROCESSES × IMAGE_THREADS is ${PROCESSES} × ${IMAGE_THREADS}.`;
  const fittingProcesses = defaultProcessCount(quotaCores, cores);
  if (threads > Math.ceil(coresGranted))
    return warningFinding(
      message,
      `Set PROCESSES to ${fittingProcesses} and IMAGE_THREADS to 1, or run npm run tune.`,
    );
  const remedy = `Set PROCESSES to ${Math.floor(coresGranted)}, so that no core is idle, or run npm run tune.`;
  return threads <= coresGranted / 2 ? warningFinding(message, remedy) : okFinding(message);
}

/** The finding about the number of libuv's threads, which decode pictures and also serve file reads and DNS queries. */
function libuvThreadsFinding(
  { libuvThreads: given }: HostFacts,
  { images: { IMAGE_THREADS } }: Settings,
): DoctorFinding {
  if (!given) return okFinding("libuv's threads follow IMAGE_THREADS.");
  const message = `UV_THREADPOOL_SIZE is ${JSON.stringify(given)}.`;
  if (/^\d+$/.test(given) && Number(given) > IMAGE_THREADS) return okFinding(message);
  const remedy = `Leave it out, or set it above IMAGE_THREADS (${IMAGE_THREADS}): file reads wait for pictures otherwise.`;
  return warningFinding(message, remedy);
}

/**
 * The finding about the sum of the memory budgets of all processes, with one browser per render thread. The memory of
 * further browsers is mentioned, but it never causes a problem or a warning: such browsers are rare, and Linux ends
 * them first when memory runs out.
 */
function memoryFinding({ memoryBytes }: HostFacts, { processes, images, renders }: Settings): DoctorFinding {
  const { PROCESSES } = processes;
  const budgets = imageMemoryBudgets(images.IMAGE_MEMORY_MEGABYTES, PROCESSES, memoryBytes);
  const { quickBytes, slowBytes, heavyBytes, batchBytes } = budgets;
  const perProcess = {
    'quick passes': quickBytes,
    'slow passes': slowBytes,
    'heavy passes': heavyBytes,
    'large jobs': batchBytes,
    browsers: renders.RENDER_THREADS * renders.RENDER_MEMORY_MEGABYTES * MEGABYTE_BYTES,
    code: BASE_PROCESS_BYTES,
  };
  const pictureBytes = PROCESSES * (quickBytes + slowBytes + heavyBytes + batchBytes);
  const neededBytes = PROCESSES * Object.values(perProcess).reduce((sum, bytes) => sum + bytes, 0);
  const furtherBrowsers = PROCESSES * MAX_ADDITIONAL_BROWSERS;
  const furtherBytes = furtherBrowsers * renders.RENDER_MEMORY_MEGABYTES * MEGABYTE_BYTES;
  const parts = Object.entries(perProcess).map(([part, bytes]) => `${part} ${toMegabytes(bytes)}`);
  const message = `Up to ${toMegabytes(neededBytes)} MB may be in use, of ${toMegabytes(memoryBytes)} MB (the memory of the machine, or the limit of its control group): ${PROCESSES} × (${parts.join(' + ')}). For some minutes after several accounts drew pages, ${furtherBrowsers} further browsers may take ${toMegabytes(furtherBytes)} MB more.`;
  const lowerPicturesRemedy =
    'Lower IMAGE_MEMORY_MEGABYTES or PROCESSES: the system would kill processes under load.';
  if (pictureBytes > memoryBytes) return problemFinding(message, lowerPicturesRemedy);
  const lowerAnyRemedy =
    'Lower PROCESSES, IMAGE_MEMORY_MEGABYTES, RENDER_THREADS or RENDER_MEMORY_MEGABYTES.';
  return neededBytes > memoryBytes ? warningFinding(message, lowerAnyRemedy) : okFinding(message);
}

function openFilesFinding({ maxOpenFiles }: HostFacts): DoctorFinding {
  if (maxOpenFiles === null) return okFinding('The limit of open files cannot be read here.');
  const message = `A process may have ${maxOpenFiles} open files.`;
  const remedy = `Raise nofile to ${RECOMMENDED_OPEN_FILES} (LimitNOFILE of systemd, --ulimit of Docker): each connection is one.`;
  if (maxOpenFiles < MIN_OPEN_FILES) return problemFinding(message, remedy);
  return maxOpenFiles < RECOMMENDED_OPEN_FILES ? warningFinding(message, remedy) : okFinding(message);
}

function taskLimitFinding({ maxTasks }: HostFacts, { processes: { PROCESSES } }: Settings): DoctorFinding {
  if (maxTasks === null) return okFinding('No limit of processes is set.');
  const neededTasks = TASKS_PER_PROCESS * (PROCESSES + 1);
  const message = `${maxTasks} processes and threads are granted, and about ${neededTasks} are needed.`;
  return maxTasks < neededTasks
    ? problemFinding(message, `Raise pids.max (TasksMax of systemd) to ${2 * neededTasks}.`)
    : okFinding(message);
}

/**
 * The finding about the heap limit. By default Node.js allows about half of the memory, so a very low limit comes from
 * NODE_OPTIONS.
 */
function heapLimitFinding({ heapBytes }: HostFacts): DoctorFinding {
  const message = `The heap of a process may grow to ${toMegabytes(heapBytes)} MB.`;
  const remedy =
    'Take --max-old-space-size out of NODE_OPTIONS, or raise it to 512: a process dies at its limit.';
  return heapBytes < MIN_HEAP_BYTES ? problemFinding(message, remedy) : okFinding(message);
}

function imageWaitFinding({ images: { IMAGE_WAIT_MS, TRANSFORM_TIMEOUT_MS } }: Settings): DoctorFinding {
  const message = `A call waits for at most ${IMAGE_WAIT_MS} ms in an overload, and ends after ${TRANSFORM_TIMEOUT_MS} ms.`;
  if (IMAGE_WAIT_MS < TRANSFORM_TIMEOUT_MS) return okFinding(message);
  return warningFinding(
    message,
    'Set IMAGE_WAIT_MS below TRANSFORM_TIMEOUT_MS: calls wait in vain otherwise, and end as 503 deadline_exceeded.',
  );
}

/** The scripts in which templates are often written, keyed by the Debian package that has fonts for them. */
const SCRIPTS_BY_FONT_PACKAGE = {
  'fonts-dejavu-core': ['Latin', 'Greek', 'Cyrillic', 'Arabic', 'Hebrew'],
  'fonts-noto-color-emoji': ['Emoji'],
  'fonts-noto-core': ['Devanagari', 'Bengali', 'Tamil', 'Thai'],
  'fonts-noto-cjk': ['Han', 'Hiragana', 'Katakana', 'Hangul'],
};

function* fontFindings({ fonts, missingFontconfig }: HostFacts): Generator<DoctorFinding> {
  if (missingFontconfig !== null)
    yield problemFinding(
      `FONTCONFIG_FILE names ${missingFontconfig}, which does not exist: browsers and drawings find no font.`,
      'Correct it, or leave it out.',
    );
  if (fonts.length === 0) {
    yield problemFinding(
      'There is no font: templates draw no text.',
      'Leave FONTCONFIG_FILE out: the service has fonts of its own.',
    );
    return;
  }
  yield okFinding(`There are ${fonts.length} font families.`);
  for (const [name, wanted] of Object.entries(SCRIPTS_BY_FONT_PACKAGE)) {
    const missing = wanted.filter((script) => !fonts.some(({ scripts }) => scripts.includes(script)));
    if (missing.length > 0)
      yield warningFinding(
        `No font draws ${missing.join(', ')}.`,
        `Install ${name} if templates or texts use them.`,
      );
  }
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE_BYTES);
}

function roundCores(cores: number): number {
  return Math.round(cores * 10) / 10;
}
