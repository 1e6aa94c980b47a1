import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { readControlGroupLimits } from '../../platform/concurrency/control-group.ts';
import { hostMemoryBytes } from '../../platform/concurrency/memory.ts';

/** The facts of this host; null if they cannot be read here. */
export interface HostFacts {
  cores: number;
  /** Cores that the control group grants, such as 1.5. */
  quotaCores: number | null;
  /** The memory of the machine, or the limit of the control group if that is less. */
  memoryBytes: number;
  openFiles: number | null;
  /** The limit of processes and threads of the control group. */
  tasks: number | null;
  /** The largest heap of a process with NODE_OPTIONS of this environment. */
  heapBytes: number;
  /** The font families of `fc-list`; null without fontconfig. */
  fontFamilies: readonly string[] | null;
  /** The LANGUAGES for which no font is installed. */
  languagesWithoutFont: readonly string[];
  /** The file that FONTCONFIG_FILE names, if it is missing. */
  missingFontconfig: string | null;
  nodeVersion: string;
  /** UV_THREADPOOL_SIZE of the environment. */
  libuvThreads: string | undefined;
}

/** A language for each script that templates are often written in. */
const LANGUAGES = ['ar', 'he', 'hi', 'ja', 'ko', 'ru', 'th', 'zh-cn'];
const COMMAND_TIMEOUT_MS = 5_000;

export async function readHostFacts(): Promise<HostFacts> {
  const fonts = await readOutput('fc-list', [':', 'family']);
  const missing = await Promise.all(
    LANGUAGES.map(async (language) => (await readOutput('fc-list', [`:lang=${language}`])) === ''),
  );
  const limits = readControlGroupLimits();
  return {
    cores: availableParallelism(),
    quotaCores: limits.cores,
    memoryBytes: hostMemoryBytes(),
    openFiles: openFilesOf(await readText('/proc/self/limits')),
    tasks: limits.tasks,
    heapBytes: getHeapStatistics().heap_size_limit,
    fontFamilies: fonts === null ? null : fonts.split('\n').filter((line) => line !== ''),
    languagesWithoutFont: fonts === null ? [] : LANGUAGES.filter((_language, index) => missing[index]),
    missingFontconfig: missingFile(process.env.FONTCONFIG_FILE),
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

async function readOutput(command: string, words: string[]): Promise<string | null> {
  return promisify(execFile)(command, words, { timeout: COMMAND_TIMEOUT_MS }).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}
