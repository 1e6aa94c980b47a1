import type { Logger } from 'pino';
import type { Coordination } from './stores/coordination/port.ts';

/**
 * The lease of a task, which is longer than a batch takes. When a process dies, another one takes its tasks over after
 * this time.
 */
const LEASE_MS = 60_000;
/** The default number of batches in a round. */
const BATCHES = 100;

/** A regular clean-up: of expired documents, of leases of dead processes, of unfinished removals. */
export interface SweepTask {
  /** Unique among the tasks, because it names the lease. */
  name: string;
  /**
   * Removes a small batch of what has expired at `now`; returns how much it removed. After 0 the round is over: a row
   * that was read and could not be removed does not count, or the same batch would be read again at once.
   */
  sweep(now: Date): Promise<number>;
  /** Time between two rounds of this task; default: the sweeper's. */
  intervalMs?: number;
  /** Most batches in a round; default 100. */
  batches?: number;
}

interface SweeperOptions {
  coordination: Coordination;
  /** The name of this process, as the owner of leases. */
  owner: string;
  tasks: readonly SweepTask[];
  intervalMs: number;
  now: () => Date;
  /**
   * True while this process returns each task after a round, so that another one can take it over, because the clock of
   * this host is wrong.
   */
  yields?: () => boolean;
  log: Logger;
}

interface Sweeper {
  /** Begins the rounds of all tasks, each with its own timer. */
  start(): void;
  /** Runs one round of every task whose lease no other process holds. */
  sweep(): Promise<void>;
  /** Resolves when the running batches have ended, and releases the leases. */
  stop(): Promise<void>;
}

/**
 * Runs the sweeps. Each task has its own timer, so that no task waits for another one, and its own lease, so that one
 * of all processes that share the stores runs it. Two concurrent runs of a task, as after the loss of a lease, do no
 * harm.
 */
export function createSweeper(options: SweeperOptions): Sweeper {
  const rounds = options.tasks.map((task) => createRounds(task, options));
  return {
    start() {
      for (const { schedule } of rounds) schedule();
    },
    async sweep() {
      await Promise.all(rounds.map(({ sweep }) => sweep()));
    },
    async stop() {
      await Promise.all(rounds.map(({ stop }) => stop()));
    },
  };
}

/** The rounds of one task. */
function createRounds(
  task: SweepTask,
  { coordination, owner, now, log, yields = () => false, ...defaults }: SweeperOptions,
) {
  const { intervalMs = defaults.intervalMs, batches = BATCHES } = task;
  const lease = `sweep/${task.name}`;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  async function sweep(): Promise<void> {
    try {
      for (let batch = 0; batch < batches && !isStopped; batch += 1) {
        const isOurs = await coordination.lease(lease, owner, LEASE_MS);
        if (!isOurs || (await task.sweep(now())) === 0) return;
      }
    } catch (error) {
      log.warn({ err: error, task: task.name }, 'A task was not swept; its next round repeats it');
    }
  }

  function schedule(): void {
    timer = setTimeout(() => {
      round = sweep()
        .then(() => (yields() ? endLease() : undefined))
        .finally(() => !isStopped && schedule());
    }, intervalMs);
    timer.unref();
  }

  async function stop(): Promise<void> {
    isStopped = true;
    clearTimeout(timer);
    await round;
    await endLease();
  }

  async function endLease(): Promise<void> {
    await coordination
      .endLease(lease, owner)
      .catch((error) => log.warn({ err: error, task: task.name }, 'The lease of a task ends by itself'));
  }

  return { schedule, sweep, stop };
}
