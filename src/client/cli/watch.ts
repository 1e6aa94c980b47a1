import type { Darkroom } from '../client.ts';
import type { Clock } from '../clock.ts';
import type { JobSummary } from '../schema.ts';

const RUNNING = ['PENDING', 'PROCESSING', 'CANCELLING'] as const;
const POLL_MS = 2_000;
const BEGINNING = '1970-01-01T00:00:00Z';

/**
 * Reports the jobs of an account as they end. Every two seconds it asks which jobs run, and which were created after
 * the newest known job.
 */
export class JobWatch {
  readonly #client: Darkroom;
  readonly #clock: Clock;
  /** When the newest known job was created, by the clock of the service. */
  #newest = BEGINNING;
  #running: ReadonlySet<string> = new Set();
  /** Ended jobs that were reported and may appear in the next list again. */
  #known: ReadonlySet<string> = new Set();

  private constructor(client: Darkroom, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Begins to watch. Every job that ends after the promise has resolved is reported. */
  static async open(client: Darkroom, clock: Clock, signal: AbortSignal): Promise<JobWatch> {
    const watch = new JobWatch(client, clock);
    const { rows } = await client.jobs.list({ perPage: 1 }, { signal }).first();
    watch.#newest = rows[0]?.createdAt ?? BEGINNING;
    watch.#known = idsOf((await watch.#created(signal)).filter(hasEnded));
    watch.#running = await watch.#listRunning(signal);
    return watch;
  }

  /** The jobs that end, until the signal aborts. */
  async *ended(signal: AbortSignal): AsyncGenerator<JobSummary> {
    for (;;) {
      await this.#clock.sleep(POLL_MS, signal);
      yield* await this.#look(signal);
    }
  }

  /** The jobs that ended since the last look. */
  async #look(signal: AbortSignal): Promise<JobSummary[]> {
    const created = await this.#created(signal);
    const running = await this.#listRunning(signal);
    const endedNew = created.filter((job) => hasEnded(job) && !this.#known.has(job.id));
    const told = idsOf(endedNew);
    const ended = [...endedNew];
    for (const id of this.#running) {
      if (running.has(id) || told.has(id)) continue;
      const job = await this.#client.jobs.get(id, { items: 0 }, { signal });
      if (hasEnded(job)) ended.push(job);
      else running.add(id);
    }
    for (const { id } of created.filter((job) => !hasEnded(job))) running.add(id);
    this.#newest = created.at(-1)?.createdAt ?? this.#newest;
    this.#known = new Set([...idsOf(created.filter(hasEnded)), ...idsOf(ended)]);
    this.#running = new Set([...running].filter((id) => !this.#known.has(id)));
    return ended;
  }

  /** The jobs that were created since the newest known job, which is included; oldest first. */
  async #created(signal: AbortSignal): Promise<JobSummary[]> {
    const jobs = await this.#client.jobs.list({ createdFrom: this.#newest }, { signal }).all();
    return jobs.reverse();
  }

  async #listRunning(signal: AbortSignal): Promise<Set<string>> {
    const ids = new Set<string>();
    for (const status of RUNNING)
      for await (const { id } of this.#client.jobs.list({ status }, { signal })) ids.add(id);
    return ids;
  }
}

function hasEnded({ status }: JobSummary): boolean {
  return !RUNNING.some((one) => one === status);
}

function idsOf(jobs: readonly JobSummary[]): Set<string> {
  return new Set(jobs.map(({ id }) => id));
}
