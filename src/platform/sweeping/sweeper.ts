import type { Logger } from 'pino';
import type { Coordination } from '../stores/coordination/port.ts';

/** Longer than a batch takes: when a process dies at a task, another takes the task over after this time. */
const LEASE_MS = 60_000;
/** Batches of one round, unless the task says otherwise. */
const BATCHES = 100;

/** Work that piles up and must be cleared away: expired documents, leases of dead processes, unfinished removals. */
export interface SweepTask {
  /** Unique among the tasks: the lease is kept under it. */
  name: string;
  /** Clears a small batch of what is over at `now`; answers how much it cleared, 0 when nothing is left. */
  sweep(now: Date): Promise<number>;
  /** Time between two rounds of this task; default: the sweeper's. */
  intervalMs?: number;
  /** Most batches in a round; default 100. */
  batches?: number;
}

interface SweeperOptions {
  coordination: Coordination;
  /** Names this process among those that could sweep. */
  owner: string;
  tasks: readonly SweepTask[];
  intervalMs: number;
  now: () => Date;
  /** True while this process gives a task back after each round, for another one to keep: its clock is wrong. */
  yields?: () => boolean;
  log: Logger;
}

interface Sweeper {
  /** Begins the rounds of every task, each on a timer of its own. */
  start(): void;
  /** One round of every task; another process's tasks are left to it. */
  sweep(): Promise<void>;
  /** Resolves when the batches at work have ended, and lets another process take the tasks over. */
  stop(): Promise<void>;
}

/**
 * Clears away what is over. Each task has its own timer and its own lease, so that no task waits for another one, and
 * at any time one process of all that share the stores performs it. Two at once, as after the loss of a lease, clear
 * the same things twice and harm nothing.
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
      for (let batch = 0; batch < batches && (await maySweep()); batch += 1) {
        if ((await task.sweep(now())) === 0) return;
      }
    } catch (error) {
      log.warn({ err: error, task: task.name }, 'A task was not swept; its next round repeats it');
    }
  }

  async function maySweep(): Promise<boolean> {
    return !isStopped && coordination.lease(lease, owner, LEASE_MS);
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
