import { type MetricObjectWithValues, type MetricValueWithName, register } from 'prom-client';

/** What a process counted since its start, and its gauges now. Two of them make a picture of the time between. */
export interface LoadSnapshot {
  /** On the clock of the process, in milliseconds. */
  atMs: number;
  /** Sums of samples, by their name and the labels that are kept: `darkroom_refusals_total capacity`. */
  values: Record<string, number>;
}

/** The samples of a snapshot, with the labels that are kept; over all others they are summed. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  darkroom_request_duration_seconds_bucket: ['le'],
  darkroom_request_duration_seconds_count: [],
  darkroom_pool_wait_seconds_sum: ['work'],
  darkroom_op_part_seconds_total: ['part'],
  darkroom_store_duration_seconds_sum: [],
  darkroom_provider_call_seconds_sum: [],
  darkroom_refusals_total: ['code', 'reason'],
  darkroom_pool_queued: [],
  darkroom_process_memory_bytes: [],
  darkroom_cpu_throttled_seconds_total: [],
  process_resident_memory_bytes: [],
  nodejs_active_resources: ['type'],
};
const API = '/api/';

/** The snapshot of this process, of the metrics that it declares. Requests are those of the interface alone. */
export async function loadSnapshot(): Promise<LoadSnapshot> {
  const values: Record<string, number> = {};
  const metrics = (await register.getMetricsAsJSON()) as MetricObjectWithValues<
    MetricValueWithName<string>
  >[];
  for (const metric of metrics) {
    for (const { metricName = metric.name, labels, value } of metric.values) {
      const kept = KEPT[metricName];
      if (kept === undefined || (labels.route !== undefined && !String(labels.route).startsWith(API)))
        continue;
      const key = [metricName, ...kept.flatMap((label) => labels[label] || [])].join(' ');
      values[key] = (values[key] ?? 0) + value;
    }
  }
  return { atMs: performance.now(), values };
}
