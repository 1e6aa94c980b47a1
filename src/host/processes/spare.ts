import type { Worker } from 'node:cluster';
import type { Clock } from '../../platform/clock.ts';

/** The argument of a process that loads its modules and then waits, by which it is known from its start. */
export const SPARE_ARGUMENT = '--spare';
/** Time from a start, or from the use of a spare, until the next spare starts: others need the cores before. */
const SPARE_AFTER_MS = 5_000;

/** The spare process of the primary. It is there some seconds after the service has started, and after each use. */
export class Spare {
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
    this.#createLater();
  }

  is(worker: Worker): boolean {
    return worker === this.#worker;
  }

  /** The spare process, if there is one. The next one follows. */
  take(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#cancel();
    if (this.#isKept) this.#createLater();
    return worker;
  }

  /** Ends the spare process. No other one follows. */
  end(): void {
    this.#isKept = false;
    this.take()?.process.kill('SIGKILL');
  }

  #createLater(): void {
    this.#cancel();
    this.#cancel = this.#clock.after(SPARE_AFTER_MS, () => {
      this.#worker ??= this.#create();
    });
  }
}

/**
 * Waits in a spare process until it is needed. It then drops its argument, and is an API process as every other one.
 * @returns the CPU time that it used before it was needed.
 */
export async function waitAsSpare(needed: Promise<void>): Promise<NodeJS.CpuUsage> {
  if (!process.argv.includes(SPARE_ARGUMENT)) return { user: 0, system: 0 };
  await needed;
  process.title = [process.execPath, ...process.execArgv, process.argv[1]].join(' ');
  return process.cpuUsage();
}
