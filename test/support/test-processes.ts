import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Need, needsOf } from './needs.ts';

/** Test files that run one after another in one process. */
export interface TestProcess {
  files: string[];
  /** Whether they run on Redis and MongoDB instead of the embedded stores. */
  isCluster: boolean;
}

/** More of them share little more, and the last process of a run would take long. */
const MAX_FILES = 6;
const LONG: ReadonlySet<Need> = new Set(['server', 'browser', 'service', 'alone']);
const TOGETHER = join(import.meta.dirname, 'together.ts');
const TIMEOUT_MS_A_FILE = 410_000;

/** The processes of a run: files of one floor with the same needs share one, unless they must be alone in theirs. */
export function processesFor(files: readonly string[], isCluster: boolean): TestProcess[] {
  const groups = Map.groupBy(files, (file) => {
    const needs = needsOf(file);
    return needs.includes('service') || needs.includes('alone') ? file : `${floorOf(file)}: ${needs}`;
  });
  return [...groups.values()].flatMap(inParts).map((part) => ({ files: part, isCluster }));
}

/** The folder of `test` that a file is below, such as `product`. */
function floorOf(file: string): string {
  return file.split('/')[1] ?? '';
}

/** Parts of about the same length. */
function inParts(files: readonly string[]): string[][] {
  const length = Math.ceil(files.length / Math.ceil(files.length / MAX_FILES));
  return Array.from({ length: Math.ceil(files.length / length) }, (_, part) =>
    files.slice(part * length, (part + 1) * length),
  );
}

/**
 * The order in which processes begin. Those that start servers are first, so that the run ends with short ones; and
 * those of a floor are spread among the others, because the heaviest lie together. The first one of each floor begins
 * at once: a floor that has one alone may take long for it.
 */
export function inOrder(processes: readonly TestProcess[]): TestProcess[] {
  const [long, short] = [processes.filter(isLong), processes.filter((one) => !isLong(one))];
  const floors = Map.groupBy(long, ({ files, isCluster }) => `${floorOf(files[0] ?? '')} ${isCluster}`);
  const placed = [...floors.values()].flatMap((floor) =>
    floor.map((one, index) => ({ one, place: index / floor.length })),
  );
  return [...placed.sort((a, b) => a.place - b.place).map(({ one }) => one), ...short];
}

function isLong({ files }: TestProcess): boolean {
  return files.some((file) => needsOf(file).some((need) => LONG.has(need)));
}

/** Runs a process to its end. @returns what it printed, in the format of tap, and whether it ended well. */
export async function runProcess(
  { files, isCluster }: TestProcess,
  environment: Readonly<Record<string, string>>,
): Promise<{ output: string; isSuccess: boolean }> {
  const stores = isCluster ? { TEST_STORES: 'cluster' } : {};
  const child = spawn(process.execPath, [TOGETHER], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment, ...stores, TEST_FILES: files.join(), TAP_TIMEOUT: '0' },
    timeout: files.length * TIMEOUT_MS_A_FILE,
    // tap says what is still open when it gets this signal.
    killSignal: 'SIGALRM',
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { output, isSuccess: code === 0 };
}
