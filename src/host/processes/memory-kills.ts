import type { Clock } from '../../platform/clock.ts';
import { readMemoryKills } from '../../platform/concurrency/control-group.ts';
import type { RestartReason } from '../../platform/metrics/host.ts';

/** How often the number of kills is read. A kill that an earlier reading counted is not the cause of a later death. */
const KILL_COUNT_INTERVAL_MS = 10_000;

/**
 * Finds out whether the kernel killed an API process because memory ran out. The signal of its exit, SIGKILL, does not
 * show that.
 */
export class MemoryKillDetector {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #readCount: () => number | null;
  /** The number of kills at the last reading. */
  #lastCount = 0;

  constructor(clock: Pick<Clock, 'after'>, read: () => number | null = readMemoryKills) {
    this.#clock = clock;
    this.#readCount = read;
    this.#readRegularly();
  }

  /** The reason why a process died that the service did not end. */
  deathReason(signal: string | null): RestartReason {
    if (signal === null) return 'exit';
    return signal === 'SIGKILL' && (this.#readCount() ?? 0) > this.#lastCount ? 'memory' : 'signal';
  }

  #readRegularly(): void {
    this.#lastCount = this.#readCount() ?? 0;
    this.#clock.after(KILL_COUNT_INTERVAL_MS, () => this.#readRegularly());
  }
}

/** The log message about a death. */
export function deathSentence(reason: RestartReason): string {
  if (reason !== 'memory') return 'An API process died';
  return 'An API process died: the kernel killed it, because memory ran out. Give the service more memory, or lower PROCESSES; npm run doctor adds up what it may take';
}
