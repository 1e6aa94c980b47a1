import { readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** A browser process that this process started, directly or through another one. */
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

/** The processes of our browsers in /proc, and those that remain of `groups` seen before. */
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

/** Directories that remain of our browsers. */
export async function browserDirectories(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith(OURS));
}

/** Waits until a browser works hard at the page that has just been sent. */
export async function untilAtWork(): Promise<void> {
  const before = new Map(browserProcesses().map(({ pid, ticks }) => [pid, ticks]));
  const works = ({ pid, ticks }: BrowserProcess) => ticks - (before.get(pid) ?? 0) >= TICKS_OF_WORK;
  const remaining = await untilEmpty(() => (browserProcesses().some(works) ? [] : ['no browser works']));
  if (remaining.length > 0) throw new Error('No browser works at a page.');
}

/** Polls until the list is empty. @returns the last list, which is empty unless a minute passed. */
export async function untilEmpty<T>(list: () => T[] | Promise<T[]>): Promise<T[]> {
  let remaining = await list();
  for (let poll = 0; poll < 1_200 && remaining.length > 0; poll += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    remaining = await list();
  }
  return remaining;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
