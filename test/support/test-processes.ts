import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { forEachWithLimit } from '../../src/platform/queues.ts';
import { type Need, needsOf } from './needs.ts';

/** Test files that run one after another in one process. */
export interface TestProcess {
  files: string[];
  /** Whether they run on Redis and MongoDB instead of the embedded stores. */
  isCluster: boolean;
}

/** More of them share little more, and the last process of a run would take long. */
const MAX_FILES = 20;
/** A run has so many processes at a time on two cores. More of them hold up clients beyond the time of an answer. */
const MAX_PROCESSES = 5;
/** Of those, so many wait more than they compute: the others keep the cores busy meanwhile. */
const MAX_WAITING = 2;
const ALONE: ReadonlySet<Need> = new Set(['service', 'alone']);
const WAITING: ReadonlySet<Need> = new Set(['service', 'waits']);
const LONG: ReadonlySet<Need> = new Set(['server', 'browser']);
/** What it takes may be built meanwhile, which takes minutes. */
const BUILT: ReadonlySet<Need> = new Set(['s3']);
/** Files whose dearest need is the same share processes, the dearest needs first. */
const DEAREST: readonly ReadonlySet<Need>[] = [
  BUILT,
  new Set(['clients']),
  new Set(['checkers']),
  new Set(['redis', 'mongodb']),
  WAITING,
  new Set(['browser']),
  new Set(['server']),
  new Set(['pixels', 'documents']),
];
const QUICK: ReadonlySet<Need> = new Set(['nothing']);
const TOGETHER = join(import.meta.dirname, 'together.ts');
const TIMEOUT_MS_A_FILE = 1_510_000;

/** The processes of a run: files with similar needs share one, unless they must be alone in theirs. */
export function processesFor(files: readonly string[], isCluster: boolean): TestProcess[] {
  const dearestOf = (file: string) => DEAREST.findIndex((needs) => needsOne([file], needs));
  const groups = Map.groupBy(files, (file) => (needsOne([file], ALONE) ? file : dearestOf(file)));
  return [...groups.values()].flatMap(dealt).map((part) => ({ files: part, isCluster }));
}

/** Parts of about the same length: neighbours, which often take equally long, are dealt to different ones. */
function dealt(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / MAX_FILES);
  return Array.from({ length: count }, (_, part) => files.filter((_file, index) => index % count === part));
}

/**
 * Runs processes, a limited number at a time, some of which wait. Those that are alone begin first and those that need
 * nothing last, so that a run ends with short ones.
 */
export async function runEach(
  processes: readonly TestProcess[],
  run: (testProcess: TestProcess) => Promise<void>,
): Promise<void> {
  const ordered = processes.toSorted((one, other) => rankOf(one) - rankOf(other));
  const waiting = ordered.filter(isWaiting);
  const computing = ordered.filter((one) => !isWaiting(one));
  let waitingNow = 0;

  function* inTurn(): Generator<TestProcess> {
    for (;;) {
      const isTurnOfWaiting = waitingNow < MAX_WAITING || computing.length === 0;
      const next = (isTurnOfWaiting ? waiting.shift() : undefined) ?? computing.shift();
      if (next === undefined) return;
      yield next;
    }
  }

  await forEachWithLimit(inTurn(), MAX_PROCESSES, async (one) => {
    const share = isWaiting(one) ? 1 : 0;
    waitingNow += share;
    await run(one);
    waitingNow -= share;
  });
}

function isWaiting({ files }: TestProcess): boolean {
  return needsOne(files, WAITING);
}

function rankOf({ files }: TestProcess): number {
  if (needsOne(files, ALONE)) return 0;
  if (needsOne(files, BUILT)) return 2;
  if (needsOne(files, LONG)) return 1;
  return needsOne(files, QUICK) ? 4 : 3;
}

function needsOne(files: readonly string[], needs: ReadonlySet<Need>): boolean {
  return files.some((file) => needsOf(file).some((need) => needs.has(need)));
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
