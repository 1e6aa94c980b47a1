import type { Clock } from '../../platform/clock.ts';
import { readMemoryKills } from '../../platform/concurrency/control-group.ts';
import type { RestartReason } from '../../platform/metrics/host.ts';

/** The kills of at least this long before a death are not its cause. */
const INTERVAL_MS = 10_000;

/** Tells whether an API process was killed by the kernel because memory ran out. Its own exit does not tell why. */
export class MemoryKills {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #read: () => number | null;
  /** The number of kills at the beginning of the interval. */
  #before = 0;

  constructor(clock: Pick<Clock, 'after'>, read: () => number | null = readMemoryKills) {
    this.#clock = clock;
    this.#read = read;
    this.#beginInterval();
  }

  /** The reason of a death that nobody in the service caused. */
  deathReason(signal: string | null): RestartReason {
    if (signal === null) return 'exit';
    return signal === 'SIGKILL' && (this.#read() ?? 0) > this.#before ? 'memory' : 'signal';
  }

  #beginInterval(): void {
    this.#before = this.#read() ?? 0;
    this.#clock.after(INTERVAL_MS, () => this.#beginInterval());
  }
}

/** What the log says of a death. */
export function deathSentence(reason: RestartReason): string {
  if (reason !== 'memory') return 'An API process died';
  return 'An API process died: the kernel killed it, because memory ran out. Give the service more memory, or lower PROCESSES; npm run doctor adds up what it may take';
}
