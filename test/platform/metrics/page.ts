import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MetricObject, register } from 'prom-client';

/** Where operators read what each metric means. */
export const PAGE = join(import.meta.dirname, '../../../config/metrics.md');

/** The service's own metrics in the order of their names; those of Node.js are documented by prom-client. */
export function ownMetrics(): MetricObject[] {
  return register
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('darkroom_'))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** The page of the metrics that are declared now, as Markdown. */
export function pageOf(metrics: readonly MetricObject[]): string {
  const rows = metrics.map((metric) => {
    const labels = labelsOf(metric).map((label) => `\`${label}\``);
    return `| \`${metric.name}\` | ${String(metric.type)} | ${labels.join(', ')} | ${metric.help} |`;
  });
  return [
    '# Metrics',
    '',
    'What `/metrics` answers beside the default metrics of Node.js, summed over the API processes of the host. Names follow the conventions of Prometheus:',
    'seconds and bytes, and `_total` for what only grows. No label holds an account, an id or a text of a caller.',
    '',
    'The `nodejs_eventloop_lag_…_seconds` hold the time between two looks at the event loop, which is 200 ms: 0.2 is a loop that nothing holds up.',
    '',
    'This page is written by `npm run metrics`; a test compares it with what the service declares.',
    '',
    '| Metric | Type | Labels | Meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

export function writePage(): void {
  writeFileSync(PAGE, pageOf(ownMetrics()));
}

function labelsOf(metric: MetricObject): string[] {
  return (metric as MetricObject & { labelNames?: string[] }).labelNames ?? [];
}
