import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { type FontFamily, InstalledFonts } from '../../imaging/fonts/fonts.ts';
import { readControlGroupLimits } from '../../platform/concurrency/control-group.ts';
import { hostMemoryBytes } from '../../platform/concurrency/memory.ts';

/** The facts of this host. A fact is null if it cannot be read here. */
export interface HostFacts {
  cores: number;
  /** The cores that the control group grants, such as 1.5. */
  quotaCores: number | null;
  /** The memory of the machine, or the limit of the control group if that is smaller. */
  memoryBytes: number;
  openFiles: number | null;
  /** The control group's limit on processes and threads. */
  tasks: number | null;
  /** The largest heap of a process under the NODE_OPTIONS of this environment. */
  heapBytes: number;
  /** The fonts for pages and text, including those that come with the service. */
  fonts: readonly FontFamily[];
  /** The file that FONTCONFIG_FILE names, if it is missing. */
  missingFontconfig: string | null;
  nodeVersion: string;
  /** UV_THREADPOOL_SIZE of the environment. */
  libuvThreads: string | undefined;
}

export async function readHostFacts(): Promise<HostFacts> {
  const missingFontconfig = missingFile(process.env.FONTCONFIG_FILE);
  const limits = readControlGroupLimits();
  return {
    cores: availableParallelism(),
    quotaCores: limits.cores,
    memoryBytes: hostMemoryBytes(),
    openFiles: openFilesOf(await readText('/proc/self/limits')),
    tasks: limits.tasks,
    heapBytes: getHeapStatistics().heap_size_limit,
    fonts: await new InstalledFonts().list(),
    missingFontconfig,
    nodeVersion: process.versions.node,
    libuvThreads: process.env.UV_THREADPOOL_SIZE,
  };
}

function missingFile(path: string | undefined): string | null {
  return path && !existsSync(path) ? path : null;
}

function openFilesOf(limits: string | null): number | null {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits ?? '') ?? [];
  return soft === undefined ? null : Number(soft);
}

async function readText(path: string): Promise<string | null> {
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
}
