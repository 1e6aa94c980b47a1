import type { Logger } from 'pino';
import type { Coordination } from '../stores/coordination/port.ts';

const LEASE = 'sweeper';
/** Longer than a batch takes: a sweeper that died is followed by another after this. */
const LEASE_MS = 60_000;
/** Batches of one duty in a round, so that no duty starves the others. */
const MOST_BATCHES = 100;

/** Something that piles up and must be cleared away. */
export interface Duty {
  name: string;
  /** Clears a small batch of what is over at `now`; answers how much it cleared, 0 when nothing is left. */
  sweep(now: Date): Promise<number>;
}

export interface SweeperOptions {
  coordination: Coordination;
  /** Names this process among those that could sweep. */
  owner: string;
  duties: readonly Duty[];
  intervalMs: number;
  now: () => Date;
  log: Logger;
}

export interface Sweeper {
  start(): void;
  /** One round over every duty; it ends early where another process sweeps. */
  sweep(): Promise<void>;
  /** Resolves when the batch at work has ended, and lets another process sweep. */
  stop(): Promise<void>;
}

/**
 * Clears away what is over, in one process at a time of all that share the stores. Two at once, as after a loss of the
 * lease, clear the same things twice and harm nothing.
 */
export function createSweeper({
  coordination,
  owner,
  duties,
  intervalMs,
  now,
  log,
}: SweeperOptions): Sweeper {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  async function maySweep(): Promise<boolean> {
    return !isStopped && coordination.lease(LEASE, owner, LEASE_MS);
  }

  async function perform(duty: Duty): Promise<void> {
    try {
      for (let batch = 0; batch < MOST_BATCHES && (await maySweep()); batch += 1) {
        if ((await duty.sweep(now())) === 0) return;
      }
    } catch (error) {
      log.warn({ err: error, duty: duty.name }, 'A duty was not swept; the next round repeats it');
    }
  }

  async function sweep(): Promise<void> {
    if (!(await maySweep())) return;
    for (const duty of duties) await perform(duty);
  }

  function schedule(): void {
    timer = setTimeout(() => {
      round = sweep()
        .catch((error) => log.warn({ err: error }, 'A round of the sweeper failed'))
        .finally(() => !isStopped && schedule());
    }, intervalMs);
    timer.unref();
  }

  return {
    start: schedule,
    sweep,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await round;
      await coordination
        .endLease(LEASE, owner)
        .catch((error) => log.warn({ err: error }, 'The lease of the sweeper ends by itself'));
    },
  };
}
