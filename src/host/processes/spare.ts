import type { Worker } from 'node:cluster';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Clock } from '../../platform/clock.ts';

/** The argument that marks a spare process: one that loads its modules and then waits. */
export const SPARE_PROCESS_ARGUMENT = '--spare';
/**
 * Milliseconds after the start of the service until its spare starts. A service that soon ends again needs no spare.
 */
const SPARE_DELAY_AFTER_START_MS = 15_000;
/** Milliseconds after the use of a spare until the next spare starts. Other processes need the CPU first. */
const SPARE_DELAY_AFTER_USE_MS = 5_000;
/**
 * The score for Linux's out-of-memory killer, the same as that of image processes: they are killed before processes
 * that serve.
 */
const SPARE_OOM_SCORE = '800';
const OOM_SCORE_FILE = '/proc/self/oom_score_adj';

/**
 * The spare process of the primary. It is started some seconds after the service has started, and again some seconds
 * after it was used. Where memory runs out, Linux ends it before the processes that serve.
 */
export class SpareProcess {
  readonly #create: () => Worker;
  readonly #clock: Pick<Clock, 'after'>;
  #worker: Worker | undefined;
  #isKept = false;
  #cancel: () => void = () => {};

  constructor(create: () => Worker, clock: Pick<Clock, 'after'>) {
    this.#create = create;
    this.#clock = clock;
  }

  /** Keeps a spare process from now on. */
  keep(): void {
    this.#isKept = true;
    this.#createAfter(SPARE_DELAY_AFTER_START_MS);
  }

  is(worker: Worker): boolean {
    return worker === this.#worker;
  }

  /** Takes the spare process, if there is one. The next spare starts later. */
  take(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#cancel();
    if (this.#isKept) this.#createAfter(SPARE_DELAY_AFTER_USE_MS);
    return worker;
  }

  /** Ends the spare process. No other spare follows. */
  end(): void {
    this.#isKept = false;
    this.take()?.process.kill('SIGKILL');
  }

  #createAfter(delayMs: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#worker ??= this.#create();
    });
  }
}

/**
 * Waits in a spare process until it is needed. The argument that marks it as spare is then removed from its process
 * title, and it serves as an ordinary API process.
 * @returns the CPU time that the process used before.
 */
export async function waitAsSpare(needed: Promise<void>): Promise<NodeJS.CpuUsage> {
  if (!process.argv.includes(SPARE_PROCESS_ARGUMENT)) return { user: 0, system: 0 };
  const score = replaceOomScore(SPARE_OOM_SCORE);
  await needed;
  replaceOomScore(score);
  process.title = [process.execPath, ...process.execArgv, process.argv[1]].join(' ');
  return process.cpuUsage();
}

/**
 * Replaces the score of this process for the out-of-memory killer, and returns the previous one. Other systems than
 * Linux have none.
 */
function replaceOomScore(score: string): string {
  try {
    const previous = readFileSync(OOM_SCORE_FILE, 'utf8');
    writeFileSync(OOM_SCORE_FILE, score);
    return previous;
  } catch {
    return score;
  }
}
