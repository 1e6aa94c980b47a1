import { Counter, Gauge, type Metric, register } from 'prom-client';
import { JOB_TYPES } from '../job.ts';
import type { JobsStore } from '../store.ts';

/**
 * What happens to an item when the lease of its dead process has expired: it is tried again (`again`), or it fails
 * because it has probably killed its processes (`poison`).
 */
type ExpiredLeaseConsequence = 'again' | 'poison';

interface JobsMetricsOptions {
  jobs: JobsStore;
  /** The number of items that this process works on, by the type of their jobs. */
  itemsAtWork: () => Record<string, number>;
  now: () => Date;
}

/**
 * Options of the gauges that every process reads from the shared store. All processes report the same value, so the
 * maximum is exported instead of the sum.
 */
const SHARED_GAUGE_OPTIONS = { labelNames: ['type' as const], registers: [], aggregator: 'max' as const };

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

  constructor({ jobs, itemsAtWork, now }: JobsMetricsOptions) {
    // The counters start at zero. Otherwise an alert would miss the first expired lease, because the series would begin
    // at one.
    for (const followedBy of ['again', 'poison'] satisfies ExpiredLeaseConsequence[])
      this.#expiredLeases.inc({ followed_by: followedBy }, 0);
    const running = new Gauge({
      name: 'darkroom_job_items_running',
      help: 'Items that this process works on.',
      labelNames: ['type'],
      registers: [],
      collect() {
        for (const [type, count] of Object.entries(itemsAtWork())) this.set({ type }, count);
      },
    });
    let runningRead: Promise<void> | null = null;
    /** On each scrape, a single query serves both gauges. */
    const collect = () => {
      runningRead ??= read().finally(() => {
        runningRead = null;
      });
      return runningRead;
    };
    const oldest = new Gauge({
      ...SHARED_GAUGE_OPTIONS,
      name: 'darkroom_job_oldest_waiting_seconds',
      help: 'Age of the oldest job that waits or has items that wait.',
      collect,
    });
    const open = new Gauge({
      ...SHARED_GAUGE_OPTIONS,
      name: 'darkroom_job_items_open',
      help: 'Items of unfinished jobs that have not settled.',
      collect,
    });
    async function read(): Promise<void> {
      // During an outage of the store, these gauges keep their last values, so that reading the metrics does not fail.
      const rows = await jobs.readBacklog().catch(() => null);
      if (rows === null) return;
      for (const type of JOB_TYPES) {
        const row = rows.find((one) => one.type === type);
        open.set({ type }, row?.open ?? 0);
        oldest.set({ type }, row === undefined ? 0 : (now().getTime() - Date.parse(row.oldestAt)) / 1_000);
      }
    }
    this.#gauges = [running, open, oldest];
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
