import type { Logger } from 'pino';
import type { Coordination } from './stores/coordination/port.ts';
import { type DocumentCollection, type DocumentWithId, sortBy } from './stores/documents/port.ts';

/**
 * The lease of a task. It is longer than a batch takes. If a process dies, another one takes over its tasks after this
 * time.
 */
const TASK_LEASE_MS = 20_000;
/** The default number of batches in a round. */
const DEFAULT_BATCHES_PER_ROUND = 100;

/** A periodic clean-up, such as of expired documents, of leases of dead processes, or of unfinished removals. */
export interface SweepTask {
  /** The unique name of the task, which also names its lease. */
  name: string;
  /**
   * Removes a small batch of what has expired at `now`, and returns the number of removed rows. 0 ends the round. A row
   * that could not be removed does not count, because the same batch would be read again at once.
   */
  sweep(now: Date): Promise<number>;
  /** Milliseconds between two rounds of this task. By default, it is the interval of the sweeper. */
  intervalMs?: number;
  /** The most batches in a round; 100 by default. */
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
   * Whether this process gives up each task after a round, so that another process can take it over. It is true while
   * the clock of this host is wrong.
   */
  yields?: () => boolean;
  log: Logger;
}

/**
 * Runs the sweeps. Each task has its own timer, so that no task waits for another, and its own lease, so that only one
 * of the processes that share the stores runs it. Two concurrent runs of a task, as after a lost lease, do no harm.
 */
export class Sweeper {
  readonly #rounds: readonly TaskRounds[];

  constructor(options: SweeperOptions) {
    this.#rounds = options.tasks.map((task) => new TaskRounds(task, options));
  }

  /** Starts the rounds of all tasks, each with its own timer. */
  start(): void {
    for (const rounds of this.#rounds) rounds.schedule();
  }

  /** Runs one round of every task whose lease no other process holds. */
  async sweep(): Promise<void> {
    await Promise.all(this.#rounds.map((rounds) => rounds.sweep()));
  }

  /** Resolves when the running batches have ended and the leases are released. */
  async stop(): Promise<void> {
    await Promise.all(this.#rounds.map((rounds) => rounds.stop()));
  }
}

/** Runs the rounds of one task, on a timer and under its lease. */
class TaskRounds {
  readonly #task: SweepTask;
  readonly #options: SweeperOptions;
  readonly #lease: string;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(task: SweepTask, options: SweeperOptions) {
    this.#task = task;
    this.#options = options;
    this.#lease = `sweep/${task.name}`;
  }

  schedule(): void {
    this.#timer = setTimeout(() => {
      this.#round = this.sweep()
        .then(() => (this.#options.yields?.() ? this.#endLease() : undefined))
        .finally(() => !this.#isStopped && this.schedule());
    }, this.#task.intervalMs ?? this.#options.intervalMs).unref();
  }

  async sweep(): Promise<void> {
    const { coordination, owner, now, log } = this.#options;
    const { name, batches = DEFAULT_BATCHES_PER_ROUND } = this.#task;
    try {
      for (let batch = 0; batch < batches && !this.#isStopped; batch += 1) {
        const isOurs = await coordination.lease(this.#lease, owner, TASK_LEASE_MS);
        if (!isOurs || (await this.#task.sweep(now())) === 0) return;
      }
    } catch (error) {
      log.warn({ err: error, task: name }, 'A task was not swept; its next round repeats it');
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#round;
    await this.#endLease();
  }

  async #endLease(): Promise<void> {
    const { coordination, owner, log } = this.#options;
    await coordination
      .endLease(this.#lease, owner)
      .catch((error) =>
        log.warn({ err: error, task: this.#task.name }, 'The lease of a task ends by itself'),
      );
  }
}

/** The size of a batch, small enough not to delay other calls. */
const MAX_BATCH_SIZE = 500;

/**
 * Deletes expired documents by their `expiresAt`, oldest first.
 * @returns the number of deleted documents, at most a batch; the caller repeats until it is 0.
 */
export async function deleteExpiredBatch<T extends DocumentWithId & { expiresAt: string | null }>(
  collection: DocumentCollection<T>,
  now: Date,
): Promise<number> {
  const options = { sort: sortBy('expiresAt'), limit: MAX_BATCH_SIZE, fields: ['_id'] };
  const expired = await collection.find({ expiresAt: { $lte: now.toISOString() } }, options);
  if (expired.length === 0) return 0;
  return collection.deleteMany({ _id: { $in: expired.map(({ _id }) => _id) } });
}
