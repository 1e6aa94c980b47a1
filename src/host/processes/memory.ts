import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { SettingsError } from '../../platform/setting.ts';

/** The memory allocator of the API processes and of the workers below them. */
interface MemoryAllocator {
  /** The path of the library, or `system`; it is shown to the operator. */
  name: string;
  /** The environment variables of a process that uses the allocator. */
  environment: Record<string, string>;
}

const LIBRARY_FOLDERS = ['/usr/local/lib', '/usr/lib64', '/usr/lib', '/lib64', '/lib'];
/**
 * The allocators in the order of preference. The first one keeps the least memory after pictures of different sizes.
 */
const ALLOCATOR_LIBRARIES = [/^libjemalloc\.so\.\d+$/, /^libmimalloc\.so\.\d+$/];
/**
 * The number of memory arenas that the threads of a process share under the system's allocator. By default each thread
 * has its own arena, which keeps freed memory: 690 MB per process after 1,000 mixed calls instead of 325. A variable of
 * the same name in the operator's environment takes precedence.
 */
const MALLOC_ARENA_COUNT = '2';
/**
 * The options of jemalloc. There are two arenas instead of four per core, so that memory that one thread frees can be
 * used by another. Free memory is kept for a minute instead of 10 s, because the next calls use the same blocks: a PNG
 * of 1 megapixel then takes 1 system call and 90 page faults instead of 14 and 220. Blocks of 8 MB and more are still
 * returned at once. Other libraries ignore the variable, and the operator's value takes precedence.
 */
const JEMALLOC_CONF = 'narenas:2,dirty_decay_ms:60000';

/**
 * Finds the allocator that ALLOCATOR names: `system`, the path of a library, or `auto`, which takes one that the host
 * has.
 * @throws SettingsError when the library cannot be preloaded.
 */
export function chooseAllocator(setting: string): MemoryAllocator {
  if (setting === 'auto') return allocatorOf(findInstalledLibraries().find(canBePreloaded));
  if (setting === 'system') return allocatorOf(undefined);
  if (!canBePreloaded(setting)) {
    const message = `ALLOCATOR is ${JSON.stringify(setting)}, but this file cannot be preloaded: name an allocator's shared library, or auto or system.`;
    throw new SettingsError([message]);
  }
  return allocatorOf(setting);
}

function allocatorOf(library: string | undefined): MemoryAllocator {
  const arenas = { MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? MALLOC_ARENA_COUNT };
  if (library === undefined) return { name: 'system', environment: arenas };
  const jemalloc = { MALLOC_CONF: process.env.MALLOC_CONF ?? JEMALLOC_CONF };
  return { name: library, environment: { ...arenas, ...jemalloc, LD_PRELOAD: library } };
}

/** Finds installed libraries, also in the folder of the architecture, such as /usr/lib/x86_64-linux-gnu. */
function findInstalledLibraries(): string[] {
  const folders = LIBRARY_FOLDERS.flatMap((folder) => [
    folder,
    ...namesInFolder(folder)
      .filter((name) => name.endsWith('-linux-gnu'))
      .map((name) => join(folder, name)),
  ]);
  const files = folders.flatMap((folder) =>
    namesInFolder(folder).map((name) => ({ name, path: join(folder, name) })),
  );
  return ALLOCATOR_LIBRARIES.flatMap((pattern) => files.filter(({ name }) => pattern.test(name))).map(
    ({ path }) => path,
  );
}

function namesInFolder(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Whether the library can be loaded. If not, the dynamic loader would only print a warning and continue without it. */
function canBePreloaded(library: string): boolean {
  if (process.platform !== 'linux' || !isAbsolute(library)) return false;
  const trial = spawnSync(process.execPath, ['--version'], {
    env: { LD_PRELOAD: library },
    encoding: 'utf8',
    timeout: 10_000,
  });
  return trial.status === 0 && trial.stderr === '';
}

const YOUNG_GENERATION_OPTIONS = ['--max-semi-space-size', '--min-semi-space-size'];
/**
 * The size in MB of each half of a heap's young generation, from the start on. A process has one heap for its main
 * thread and one for each image thread. By default a half grows from 1 MB to 32 MB: the process then takes 356 to 483
 * MB after 600 mixed calls. With this size it takes 321 to 374 MB at equal CPU time. A smaller size would be collected
 * too often, because a half grows only if many objects survive, and the objects of small calls die at once
 * (bench/FINDINGS.md).
 */
const YOUNG_GENERATION_MEGABYTES = 8;

/**
 * The V8 options of an API process and its threads.
 * @param nodeOptions NODE_OPTIONS of the operator, which take precedence.
 */
export function v8HeapOptions(nodeOptions: string): string[] {
  if (YOUNG_GENERATION_OPTIONS.some((option) => nodeOptions.includes(option))) return [];
  return YOUNG_GENERATION_OPTIONS.map((option) => `${option}=${YOUNG_GENERATION_MEGABYTES}`);
}
