/** The totals of a running service at one moment, of all processes of the host together. */
export interface Reading {
  /** Time of the reading by a monotonic clock, in milliseconds. */
  atMs: number;
  /** Image calls that were answered with success. */
  right: number;
  /** Image calls that the host refused or could not do in time: answers of 5xx. */
  refused: number;
  /** Successful image calls by the upper bound of their duration in seconds, cumulative, ascending. */
  buckets: ReadonlyArray<readonly [bound: number, calls: number]>;
  /** CPU time of the API processes. */
  cpuSeconds: number;
  /** Renders among the image calls. */
  renders: number;
}

/** The service between two readings. */
export interface Minute {
  seconds: number;
  right: number;
  refused: number;
  renders: number;
  /** Right answers per second: goodput. */
  perSecond: number;
  /** Share of the image calls that were answered with success; null without a call. */
  rightShare: number | null;
  /** Of the successful image calls, in milliseconds; null without one. */
  p99Ms: number | null;
  /** CPU time of the API processes per right answer, in milliseconds; null without one. */
  cpuMsPerCall: number | null;
}

/** Counts the calls that need the pools. Others are so short that they would hide these. */
const IMAGE_ROUTES = /^\/api\/v1\/images\//;
const RENDER_ROUTE = /\/render$/;

interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** Reads the text of /metrics. @throws Error where it has no request metrics, as that of another service. */
export function readingOf(text: string, atMs: number): Reading {
  const calls = (end: string) =>
    samplesOf(text, `darkroom_request_duration_seconds_${end}`).filter(({ labels }) =>
      IMAGE_ROUTES.test(labels.route ?? ''),
    );
  if (!text.includes('darkroom_request_duration_seconds'))
    throw new Error('These are no metrics of Darkroom.');
  const counts = calls('count');
  const isRight = ({ labels }: Sample) => /^[23]/.test(labels.status ?? '');
  const buckets = new Map<number, number>();
  for (const { labels, value } of calls('bucket').filter(isRight)) {
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return {
    atMs,
    right: total(counts.filter(isRight)),
    refused: total(counts.filter(({ labels }) => /^5/.test(labels.status ?? ''))),
    renders: total(counts.filter(({ labels }) => RENDER_ROUTE.test(labels.route ?? ''))),
    buckets: [...buckets].sort(([a], [b]) => a - b),
    cpuSeconds: total(samplesOf(text, 'process_cpu_seconds_total')),
  };
}

/** The difference of two readings. */
export function minuteOf(before: Reading, after: Reading): Minute {
  const seconds = (after.atMs - before.atMs) / 1000;
  const [right, refused] = [after.right - before.right, after.refused - before.refused];
  const earlier = new Map(before.buckets);
  const buckets = after.buckets.map(([bound, calls]) => [bound, calls - (earlier.get(bound) ?? 0)] as const);
  const cpuMs = (after.cpuSeconds - before.cpuSeconds) * 1000;
  return {
    seconds,
    right,
    refused,
    renders: after.renders - before.renders,
    perSecond: right / seconds,
    rightShare: right + refused === 0 ? null : right / (right + refused),
    p99Ms: quantileMs(buckets, 0.99),
    cpuMsPerCall: right === 0 ? null : cpuMs / right,
  };
}

/** The quantile of a cumulative histogram, linear within its bucket; null without a value. */
function quantileMs(buckets: Reading['buckets'], share: number): number | null {
  const calls = buckets.at(-1)?.[1] ?? 0;
  if (calls === 0) return null;
  const rank = share * calls;
  let [lower, below] = [0, 0];
  for (const [bound, until] of buckets) {
    if (until >= rank) {
      // Above the last bound nothing is known but that.
      if (bound === Number.POSITIVE_INFINITY) return lower * 1000;
      return (lower + ((bound - lower) * (rank - below)) / (until - below)) * 1000;
    }
    [lower, below] = [bound, until];
  }
  return null;
}

function samplesOf(text: string, name: string): Sample[] {
  const line = new RegExp(`^${name}(?:\\{([^}]*)\\})? ([\\d.eE+-]+)$`, 'gm');
  return [...text.matchAll(line)].map(([, labels = '', value]) => ({
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text])),
    value: Number(value),
  }));
}

function total(samples: readonly Sample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0);
}
