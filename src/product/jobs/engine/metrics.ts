import { Counter, Gauge, type Metric, register } from 'prom-client';
import type { JobsStore } from '../store.ts';
import type { ExpiredLease } from './sweeps.ts';

/** The metrics of jobs, by their type; the help of each says what it counts. No label holds an account or an id. */
export interface JobMetrics {
  claims: Counter;
  retries: Counter;
  waits: Counter;
  lost: Counter;
  leases: Counter;
  /** Puts them on the process's page of metrics. */
  install(): void;
}

export function createJobMetrics(
  jobs: JobsStore,
  itemsAtWork: () => Record<string, number>,
  now: () => Date,
): JobMetrics {
  const metrics: Metric[] = [];
  const counter = (name: string, help: string, label = 'type') => {
    const made = new Counter({ name, help, labelNames: [label], registers: [] });
    metrics.push(made);
    return made;
  };
  const claims = counter('darkroom_job_item_claims_total', 'Items that were taken to be worked on.');
  const retries = counter('darkroom_job_item_retries_total', 'Tries that failed and are repeated.');
  const waits = counter(
    'darkroom_job_item_waits_total',
    'Items that were put back because a store did not answer; this does not count as an attempt.',
  );
  const lost = counter('darkroom_job_item_claims_lost_total', 'Claims that another process took over.');
  const leases = counter(
    'darkroom_job_item_leases_expired_total',
    'Claims whose process died: tried again, or given up as poison.',
    'followed_by',
  );
  // Starting at zero lets an alert see the first one as an increase.
  for (const followedBy of ['again', 'poison'] satisfies ExpiredLease[])
    leases.inc({ followed_by: followedBy }, 0);
  metrics.push(
    new Gauge({
      name: 'darkroom_job_items_running',
      help: 'Items that this process works on.',
      labelNames: ['type'],
      registers: [],
      collect() {
        for (const [type, count] of Object.entries(itemsAtWork())) this.set({ type }, count);
      },
    }),
  );
  // Every process reads the same number from the store: the report takes the largest, not the sum.
  const shared = { labelNames: ['type' as const], registers: [], aggregator: 'max' as const };
  const oldest = new Gauge({
    ...shared,
    name: 'darkroom_job_oldest_waiting_seconds',
    help: 'Age of the oldest job that waits or has items that wait.',
  });
  const open = new Gauge({
    ...shared,
    name: 'darkroom_job_items_open',
    help: 'Items of unfinished jobs that have not settled.',
    async collect() {
      // A store that is away leaves the last counts, and the metrics of the outage readable.
      const rows = await jobs.backlog().catch(() => null);
      if (rows === null) return;
      this.reset();
      oldest.reset();
      for (const { type, open: items, oldestAt } of rows) {
        this.set({ type }, items);
        oldest.set({ type }, (now().getTime() - Date.parse(oldestAt)) / 1_000);
      }
    },
  });
  metrics.push(open, oldest);

  return {
    ...{ claims, retries, waits, lost, leases },
    install() {
      for (const metric of metrics) register.registerMetric(metric);
    },
  };
}
