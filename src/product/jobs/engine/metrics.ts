import { Counter, Gauge, type Metric, register } from 'prom-client';
import { JOB_TYPES, type JobType } from '../job.ts';
import type { JobsStore } from '../store.ts';

/**
 * What happens to an item when the lease of its dead process has expired: it is tried again (`again`), or it fails
 * because it has probably killed its processes (`poison`).
 */
type ExpiredLeaseConsequence = 'again' | 'poison';

interface JobMetricsOptions {
  jobs: JobsStore;
  /** The number of items that this process works on, by the type of their jobs. */
  itemsAtWork: () => Partial<Record<JobType, number>>;
}

/**
 * The metrics of jobs, by type. Their help texts say what each of them counts. No label contains an account or an id.
 */
export class JobMetrics {
  readonly claims = createCounter('darkroom_job_item_claims_total', 'Items that were taken to be worked on.');
  readonly retries = createCounter('darkroom_job_item_retries_total', 'Tries that failed and are repeated.');
  readonly waits = createCounter(
    'darkroom_job_item_waits_total',
    'Items that were put back because a store did not answer; this does not count as an attempt.',
  );
  readonly lost = createCounter(
    'darkroom_job_item_claims_lost_total',
    'Claims that another process took over.',
  );
  readonly #expiredLeases = createCounter(
    'darkroom_job_item_leases_expired_total',
    'Claims whose process died: tried again, or given up as poison.',
    'followed_by',
  );
  readonly #gauges: Metric[];

  constructor({ jobs, itemsAtWork }: JobMetricsOptions) {
    // The counters start at zero. Otherwise an alert would miss the first expired lease, because the series would begin
    // at one.
    for (const followedBy of ['again', 'poison'] satisfies ExpiredLeaseConsequence[])
      this.#expiredLeases.inc({ followed_by: followedBy }, 0);
    this.#gauges = [
      createGauge('darkroom_job_items_running', 'Items that this process works on.', 'sum', itemsAtWork),
      // Every process reads the next two from the shared store, so their maximum is exported instead of their sum.
      createGauge(
        'darkroom_job_oldest_waiting_seconds',
        'Age of the oldest job that waits or has items that wait.',
        'max',
        () => jobs.readOldestAges(),
      ),
      createGauge('darkroom_job_items_open', 'Items of unfinished jobs that have not settled.', 'max', () =>
        jobs.countOpenItems(),
      ),
    ];
  }

  countExpiredLease(followedBy: ExpiredLeaseConsequence): void {
    this.#expiredLeases.inc({ followed_by: followedBy });
  }

  register(): void {
    const counters = [this.claims, this.retries, this.waits, this.lost, this.#expiredLeases];
    for (const metric of [...counters, ...this.#gauges]) register.registerMetric(metric);
  }
}

function createCounter(name: string, help: string, label = 'type'): Counter {
  return new Counter({ name, help, labelNames: [label], registers: [] });
}

/**
 * A gauge by type of job. While it cannot be read, it keeps its last values, so that reading the metrics does not fail.
 */
function createGauge(
  name: string,
  help: string,
  aggregator: 'sum' | 'max',
  read: () => Partial<Record<JobType, number>> | Promise<Partial<Record<JobType, number>>>,
): Gauge {
  return new Gauge({
    ...{ name, help, aggregator },
    labelNames: ['type'],
    registers: [],
    async collect() {
      const values = await Promise.try(read).catch(() => null);
      if (values !== null) for (const type of JOB_TYPES) this.set({ type }, values[type] ?? 0);
    },
  });
}
