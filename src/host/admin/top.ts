import type { LoadSnapshot } from '../../platform/metrics/load.ts';

/** The load of a process, a host or all hosts, between two snapshots. Times are means per answer, in milliseconds. */
export interface LoadRow {
  name: string;
  requestsPerSecond: number;
  /** Milliseconds; null if nothing was answered. */
  p50: number | null;
  p99: number | null;
  /** The number of calls and items that wait for a thread. */
  waiting: number;
  waitMs: number;
  uploadMs: number;
  pixelsMs: number;
  /** The wait of requests for stores: queries of sweeps, claims and heartbeats are not in it. */
  storeMs: number;
  providerMs: number;
  /** Refusals per second, by reason. */
  refusals: Record<string, number>;
  /** Delivered pictures per second, by where they came from. */
  delivered: Record<string, number>;
  /** The number of open sockets, including those to stores. */
  connections: number;
  memoryBytes: number;
  /** The share of the time in which the CPU quota throttled a host; more than 1 is possible with several cores. */
  throttled: number;
  /** The share of the time for which the hypervisor gave the cores of a host to others. */
  stolen: number;
  /** The share of the time in which a task of a host, of the service or not, was ready and had no core. */
  pressure: number;
  /** The share of the granted cores that the service used; 0 for a process. */
  cpu: number;
}

/** A process and its two snapshots. */
export interface Observed {
  hostId: string;
  processId: string;
  before: LoadSnapshot;
  after: LoadSnapshot;
}

/** The differences of counters and the gauges at the end. */
interface SnapshotDifference {
  seconds: number;
  values: Record<string, number>;
}

const GAUGES =
  /^(darkroom_pool_queued|darkroom_process_memory|darkroom_cpu_cores|process_resident|nodejs_active)/;
const BUCKET = 'darkroom_request_duration_seconds_bucket ';
const REFUSAL = 'darkroom_refusals_total ';
const DELIVERED = 'darkroom_delivery_pictures_total ';
const PIXEL_PARTS = ['decode', 'process', 'encode'];
const MS_PER_SECOND = 1_000;

/** A row for each process, followed by one for its host; with several hosts, a last row for all of them. */
export function rowsBetween(observed: readonly Observed[]): LoadRow[] {
  const byHost = Map.groupBy(observed, ({ hostId }) => hostId);
  const rows = [...byHost].flatMap(([hostId, processes]) => [
    ...processes
      .filter(({ processId }) => processId !== 'primary')
      .map((one) => rowOf(`${hostId}/${one.processId}`, [one])),
    rowOf(hostId, processes),
  ]);
  return byHost.size > 1 ? [...rows, rowOf('all hosts', observed)] : rows;
}

function rowOf(name: string, observed: readonly Observed[]): LoadRow {
  const { seconds, values } = sumOf(observed.map(differenceOf));
  const of = (key: string) => values[key] ?? 0;
  const hosts = new Set(observed.map(({ hostId }) => hostId)).size;
  const ofHost = (key: string) => of(key) / seconds / hosts;
  const answers = of('darkroom_request_duration_seconds_count');
  const perAnswer = (total: number) => (answers > 0 ? (total * MS_PER_SECOND) / answers : 0);
  const part = (...names: string[]) =>
    perAnswer(names.reduce((sum, one) => sum + of(`darkroom_op_part_seconds_total ${one}`), 0));
  return {
    name,
    requestsPerSecond: answers / seconds,
    p50: percentile(values, 0.5),
    p99: percentile(values, 0.99),
    waiting: of('darkroom_pool_queued'),
    waitMs: perAnswer(of('darkroom_pool_wait_seconds_sum call')),
    uploadMs: part('fetch'),
    pixelsMs: part(...PIXEL_PARTS),
    storeMs: perAnswer(of('darkroom_request_store_seconds_total')),
    providerMs: perAnswer(of('darkroom_provider_call_seconds_sum')),
    refusals: ratesIn(values, REFUSAL, seconds),
    delivered: ratesIn(values, DELIVERED, seconds),
    connections: of('nodejs_active_resources TCPSocketWrap'),
    // The primary measures all processes of its host, including browsers.
    memoryBytes: of('darkroom_process_memory_bytes') || of('process_resident_memory_bytes'),
    throttled: ofHost('darkroom_cpu_throttled_seconds_total'),
    stolen: ofHost('darkroom_cpu_stolen_seconds_total'),
    pressure: ofHost('darkroom_cpu_pressure_seconds_total'),
    cpu: of('darkroom_process_cpu_seconds_total') / seconds / (of('darkroom_cpu_cores') || 1),
  };
}

function differenceOf({ before, after }: Observed): SnapshotDifference {
  const values = Object.entries(after.values).map(([key, value]) => [
    key,
    GAUGES.test(key) ? value : Math.max(0, value - (before.values[key] ?? 0)),
  ]);
  return {
    seconds: (after.atMs - before.atMs) / MS_PER_SECOND,
    values: Object.fromEntries(values),
  };
}

/** The sum of several processes: their counts add up, the duration does not. */
function sumOf(parts: readonly SnapshotDifference[]): SnapshotDifference {
  const values: Record<string, number> = {};
  for (const part of parts)
    for (const [key, value] of Object.entries(part.values)) values[key] = (values[key] ?? 0) + value;
  return { seconds: Math.max(0.001, ...parts.map(({ seconds }) => seconds)), values };
}

/** Interpolates a percentile like Prometheus: durations are assumed to be evenly distributed within their bucket. */
function percentile(values: Readonly<Record<string, number>>, share: number): number | null {
  const buckets = Object.entries(values)
    .filter(([key]) => key.startsWith(BUCKET))
    .map(([key, count]) => ({ bound: boundOf(key.slice(BUCKET.length)), count }))
    .sort((a, b) => a.bound - b.bound);
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return null;
  const rank = share * total;
  const at = buckets.findIndex(({ count }) => count >= rank);
  const { bound = 0, count = 0 } = buckets[at] ?? {};
  const { bound: from, count: below } = buckets[at - 1] ?? { bound: 0, count: 0 };
  if (bound === Number.POSITIVE_INFINITY) return from * MS_PER_SECOND;
  return (from + ((bound - from) * (rank - below)) / Math.max(1, count - below)) * MS_PER_SECOND;
}

function boundOf(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text);
}

/** The rates of a counter by its last label that has a value: refusals by reason, or by code without one. */
function ratesIn(
  values: Readonly<Record<string, number>>,
  counter: string,
  seconds: number,
): Record<string, number> {
  const rates: Record<string, number> = {};
  for (const [key, count] of Object.entries(values)) {
    if (!key.startsWith(counter) || count === 0) continue;
    const label = key.slice(counter.length).split(' ').at(-1) ?? '';
    rates[label] = (rates[label] ?? 0) + count / seconds;
  }
  return rates;
}

/** The duration from which a response counts as slow. No cause is named for quicker ones. */
const SLOW_FROM_MS = 250;
/** The share of time without a core of the host from which it is named as a cause of slow responses. */
const TAKEN_FROM = 0.1;
/** The share of its cores above which the tasks of the service wait for each other. */
const OWN_CPU_BELOW = 0.8;

/** One sentence with the most likely cause of the slowest responses: cores that were missing, or the largest mean. */
export function likeliestCause(row: LoadRow): string {
  if (row.p99 === null) return 'Nothing was answered in this time.';
  if (row.p99 < SLOW_FROM_MS)
    return `Nothing is slow: p99 is ${Math.round(row.p99)} ms, and a cause is named from ${SLOW_FROM_MS} ms on.`;
  const { throttled, stolen, pressure, cpu } = row;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const cause = 'Likeliest cause of a slow p99:';
  if (throttled >= TAKEN_FROM)
    return `${cause} the CPU quota, which held the host up for ${percent(throttled)} of the time. Grant more CPU, or lower PROCESSES.`;
  if (stolen >= TAKEN_FROM)
    return `${cause} stolen CPU: the hypervisor gave the cores of this machine to others for ${percent(stolen)} of the time. Move the service to a machine whose cores are its own.`;
  if (pressure >= TAKEN_FROM && cpu < OWN_CPU_BELOW)
    return `${cause} other programs of this machine: tasks waited for a core for ${percent(pressure)} of the time, while the service used ${percent(cpu)} of its cores. Move them, or lower PROCESSES.`;
  return largestPart(row);
}

function largestPart(row: LoadRow): string {
  const causes = [
    [row.waitMs, 'the wait for a thread', 'Add cores or hosts, or refuse earlier (IMAGE_WAIT_MS).'],
    [row.uploadMs, 'uploads and fetched urls', 'Clients or their network are slow; the host waits for them.'],
    [row.pixelsMs, 'the work on pixels', 'Pictures are large or ops costly; more cores make more at once.'],
    [row.storeMs, 'the stores', 'See "A store is slow" in docs/operating.md.'],
    [
      row.providerMs,
      'the model providers',
      'Their answers take this long; see darkroom_provider_call_seconds.',
    ],
  ] as const;
  const [ms, cause, remedy] = causes.reduce((most, one) => (one[0] > most[0] ? one : most));
  if (ms === 0) return 'No measured part of the answers took any time.';
  return `Likeliest cause of a slow p99: ${cause}, ${Math.round(ms)} ms of the mean answer. ${remedy}`;
}
