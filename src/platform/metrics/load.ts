import { type MetricObjectWithValues, type MetricValueWithName, register } from 'prom-client';

/** The counters of a process since its start, and its gauges. Two snapshots give the load of the time between them. */
export interface LoadSnapshot {
  /** The time on the monotonic clock of the process. */
  atMs: number;
  /** Sums of samples, by their name and labels: `darkroom_refusals_total capacity`. */
  values: Record<string, number>;
}

/** The samples of a snapshot, each with its labels; samples are summed over all other labels. */
const LABELS: Readonly<Record<string, readonly string[]>> = {
  darkroom_request_duration_seconds_bucket: ['le'],
  darkroom_request_duration_seconds_count: [],
  darkroom_pool_wait_seconds_sum: ['work'],
  darkroom_op_part_seconds_total: ['part'],
  darkroom_request_store_seconds_total: [],
  darkroom_provider_call_seconds_sum: [],
  darkroom_refusals_total: ['code', 'reason'],
  darkroom_delivery_pictures_total: ['from'],
  darkroom_pool_queued: [],
  darkroom_process_memory_bytes: [],
  darkroom_process_cpu_seconds_total: [],
  darkroom_cpu_cores: [],
  darkroom_cpu_throttled_seconds_total: [],
  darkroom_cpu_stolen_seconds_total: [],
  darkroom_cpu_pressure_seconds_total: [],
  process_resident_memory_bytes: [],
  nodejs_active_resources: ['type'],
};
const API = '/api/';

/** The snapshot of this process. Only requests below /api/ are counted. */
export async function loadSnapshot(): Promise<LoadSnapshot> {
  const values: Record<string, number> = {};
  const metrics = (await register.getMetricsAsJSON()) as MetricObjectWithValues<
    MetricValueWithName<string>
  >[];
  for (const metric of metrics) {
    for (const { metricName = metric.name, labels, value } of metric.values) {
      const names = LABELS[metricName];
      if (names === undefined || (labels.route !== undefined && !String(labels.route).startsWith(API)))
        continue;
      const key = [metricName, ...names.flatMap((label) => labels[label] || [])].join(' ');
      values[key] = (values[key] ?? 0) + value;
    }
  }
  return { atMs: performance.now(), values };
}
