import { type MetricObjectWithValues, type MetricValueWithName, register } from 'prom-client';

/** The calls of an account since the start of a process. */
export interface AccountCalls {
  calls: number;
  /** The calls that were answered with 429 or 503. */
  refused: number;
}

/**
 * The counters of a process since its start, and its gauges. The difference of two snapshots is the load in the time
 * between them.
 */
export interface LoadSnapshot {
  /** The time on the monotonic clock of the process. */
  atMs: number;
  /** Sums of samples, by name and labels: `darkroom_refusals_total capacity`. */
  values: Record<string, number>;
  /**
   * The latest callers, keyed by account; absent for a process that serves no calls. Metrics never contain accounts.
   */
  accounts?: Record<string, AccountCalls>;
}

/** The samples in a snapshot, each with the labels that are kept. Samples are summed over all other labels. */
const LABELS_BY_SAMPLE: Readonly<Record<string, readonly string[]>> = {
  darkroom_request_duration_seconds_bucket: ['le'],
  darkroom_request_duration_seconds_count: [],
  darkroom_pool_wait_seconds_sum: ['work'],
  darkroom_provider_call_seconds_sum: [],
  darkroom_provider_call_seconds_count: [],
  darkroom_store_duration_seconds_sum: [],
  darkroom_op_part_seconds_total: ['work', 'part'],
  darkroom_request_store_seconds_total: [],
  darkroom_job_items_running: [],
  darkroom_webhook_attempts_in_flight: [],
  darkroom_refusals_total: ['code', 'reason'],
  darkroom_delivery_pictures_total: ['from'],
  darkroom_pool_queued: [],
  darkroom_pool_busy: ['pool'],
  darkroom_pool_threads: ['pool'],
  darkroom_processes: ['role'],
  darkroom_process_memory_bytes: ['role'],
  darkroom_process_cpu_seconds_total: ['role'],
  darkroom_memory_limit_bytes: [],
  darkroom_memory_kills_total: [],
  darkroom_data_free_bytes: [],
  darkroom_data_reserve_bytes: [],
  darkroom_cpu_cores: [],
  darkroom_cpu_throttled_seconds_total: [],
  darkroom_cpu_stolen_seconds_total: [],
  darkroom_cpu_pressure_seconds_total: [],
  process_resident_memory_bytes: [],
  nodejs_active_resources: ['type'],
};
/** The metrics that have these samples. Those of a histogram have its name with an ending. */
const SNAPSHOT_METRICS = new Set(
  Object.keys(LABELS_BY_SAMPLE).map((sample) => sample.replace(/_(?:bucket|sum|count)$/, '')),
);
const API_PREFIX = '/api/';

type MetricSample = MetricValueWithName<string>;

/**
 * Takes a snapshot of this process. Only requests below /api/ are counted. All metrics are read at the same time,
 * because some share one measurement.
 */
export async function takeLoadSnapshot(): Promise<LoadSnapshot> {
  const values: Record<string, number> = {};
  await Promise.all(
    Array.from(SNAPSHOT_METRICS, async (metric) => {
      const read = await register.getSingleMetric(metric)?.get();
      if (read !== undefined) addSamples(values, read as MetricObjectWithValues<MetricSample>);
    }),
  );
  return { atMs: performance.now(), values };
}

function addSamples(
  values: Record<string, number>,
  { name: metric, values: sampled }: MetricObjectWithValues<MetricSample>,
): void {
  for (const { metricName = metric, labels, value } of sampled) {
    const names = LABELS_BY_SAMPLE[metricName];
    if (names === undefined || (labels.route !== undefined && !String(labels.route).startsWith(API_PREFIX)))
      continue;
    const key = [metricName, ...names.flatMap((label) => labels[label] || [])].join(' ');
    values[key] = (values[key] ?? 0) + value;
  }
}
