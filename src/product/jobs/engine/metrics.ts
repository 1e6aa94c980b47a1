import { Counter, Gauge, type Metric, register } from 'prom-client';
import type { JobsStore } from '../store.ts';

/**
 * What happens to the item of a dead process when its claim has expired. It is tried again, or it fails because it is
 * probably the cause of the deaths.
 */
type ExpiredLease = 'again' | 'poison';

interface JobsMetricsOptions {
  jobs: JobsStore;
  /** The number of items that this process works on, by the type of their jobs. */
  itemsAtWork: () => Record<string, number>;
  now: () => Date;
}

/**
 * Options of gauges that every process reads from the store. Their values are equal, so the largest is reported instead
 * of the sum.
 */
const SHARED_GAUGE_OPTIONS = { labelNames: ['type' as const], registers: [], aggregator: 'max' as const };

/** The metrics of jobs by type. The help text of each says what it counts. No label contains an account or an id. */
export class JobMetrics {
  readonly claims = counter('darkroom_job_item_claims_total', 'Items that were taken to be worked on.');
  readonly retries = counter('darkroom_job_item_retries_total', 'Tries that failed and are repeated.');
  readonly waits = counter(
    'darkroom_job_item_waits_total',
    'Items that were put back because a store did not answer; this does not count as an attempt.',
  );
  readonly lost = counter('darkroom_job_item_claims_lost_total', 'Claims that another process took over.');
  readonly #leases = counter(
    'darkroom_job_item_leases_expired_total',
    'Claims whose process died: tried again, or given up as poison.',
    'followed_by',
  );
  readonly #gauges: Metric[];

  constructor({ jobs, itemsAtWork, now }: JobsMetricsOptions) {
    // The counters start at zero, so that an alert sees the first expired lease as an increase.
    for (const followedBy of ['again', 'poison'] satisfies ExpiredLease[])
      this.#leases.inc({ followed_by: followedBy }, 0);
    const running = new Gauge({
      name: 'darkroom_job_items_running',
      help: 'Items that this process works on.',
      labelNames: ['type'],
      registers: [],
      collect() {
        for (const [type, count] of Object.entries(itemsAtWork())) this.set({ type }, count);
      },
    });
    const oldest = new Gauge({
      ...SHARED_GAUGE_OPTIONS,
      name: 'darkroom_job_oldest_waiting_seconds',
      help: 'Age of the oldest job that waits or has items that wait.',
    });
    const open = new Gauge({
      ...SHARED_GAUGE_OPTIONS,
      name: 'darkroom_job_items_open',
      help: 'Items of unfinished jobs that have not settled.',
      async collect() {
        // During an outage of the store, the gauges keep their last values, so that the other metrics can still be
        // read.
        const rows = await jobs.readBacklog().catch(() => null);
        if (rows === null) return;
        this.reset();
        oldest.reset();
        for (const { type, open: items, oldestAt } of rows) {
          this.set({ type }, items);
          oldest.set({ type }, (now().getTime() - Date.parse(oldestAt)) / 1_000);
        }
      },
    });
    this.#gauges = [running, open, oldest];
  }

  countExpiredLease(followedBy: ExpiredLease): void {
    this.#leases.inc({ followed_by: followedBy });
  }

  /** Registers the metrics, so that the process exposes them. */
  register(): void {
    const counters = [this.claims, this.retries, this.waits, this.lost, this.#leases];
    for (const metric of [...counters, ...this.#gauges]) register.registerMetric(metric);
  }
}

function counter(name: string, help: string, label = 'type'): Counter {
  return new Counter({ name, help, labelNames: [label], registers: [] });
}
