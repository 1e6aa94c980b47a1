import { readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** A browser process that this process started, whichever its place in the family. */
export interface BrowserProcess {
  pid: number;
  group: number;
  /** `browser` for the first one, else `renderer`, `gpu-process`, `utility`, … */
  type: string;
  zombie: boolean;
  /** Processor time that it has used, in ticks of 10 ms. */
  ticks: number;
}

/** More than a browser takes to start. */
const TICKS_OF_WORK = 30;

/** Directory of every browser that this process owns: its name carries our pid. */
const OURS = `darkroom-browser-${process.pid}-`;

/** What /proc knows of our browsers now, and of what is left of `groups` seen before. */
export function browserProcesses(groups: ReadonlySet<number> = new Set()): BrowserProcess[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(describe);
  const ours = new Set(groups);
  for (const { commandLine, group } of all) if (commandLine.includes(OURS)) ours.add(group);
  return all.filter(({ group }) => ours.has(group));
}

function describe(pid: string): BrowserProcess & { commandLine: string } {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, , group] = fields;
  // Fields 14 and 15 of proc(5): in user mode and in the kernel.
  const ticks = Number(fields[11]) + Number(fields[12]);
  const commandLine = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
  const type = /--type=([a-z-]+)/.exec(commandLine)?.[1] ?? 'browser';
  return { pid: Number(pid), group: Number(group), type, zombie: state === 'Z', ticks, commandLine };
}

/** Directories that our browsers left. */
export async function browserDirectories(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith(OURS));
}

/** Waits until a browser works hard at the page that has just been sent. */
export async function untilAtWork(): Promise<void> {
  const before = new Map(browserProcesses().map(({ pid, ticks }) => [pid, ticks]));
  const works = ({ pid, ticks }: BrowserProcess) => ticks - (before.get(pid) ?? 0) >= TICKS_OF_WORK;
  const left = await untilEmpty(() => (browserProcesses().some(works) ? [] : ['no browser works']));
  if (left.length > 0) throw new Error('No browser works at a page.');
}

/** Asks again until the answer is empty; after a minute it tells what is left. */
export async function untilEmpty<T>(ask: () => T[] | Promise<T[]>): Promise<T[]> {
  let left = await ask();
  for (let turn = 0; turn < 1_200 && left.length > 0; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    left = await ask();
  }
  return left;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
