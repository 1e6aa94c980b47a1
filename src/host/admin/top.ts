import type { LoadSnapshot } from '../../platform/metrics/load.ts';
import { PRIMARY_PROCESS_ID } from '../processes/controls.ts';

/** The load of a process, a host or all hosts, between two snapshots. Times are means per response, in milliseconds. */
export interface LoadRow {
  name: string;
  scope: 'process' | 'host' | 'all hosts';
  requestsPerSecond: number;
  /** The median duration of a response, and the 99th percentile, in milliseconds; null if nothing was answered. */
  p50: number | null;
  p99: number | null;
  /** The number of calls and items that wait for a thread. */
  waiting: number;
  waitMs: number;
  uploadMs: number;
  pixelsMs: number;
  /** The time that requests waited for stores. Queries of sweeps, claims and heartbeats are not included. */
  storeMs: number;
  /** The share of the time of all store queries that was spent on queries for which no request waited. */
  backgroundStoreShare: number;
  /** The mean duration of a model call. Jobs make these calls, so that no response waits for them. */
  providerMs: number;
  /** Job items in progress, and webhook attempts in flight. */
  jobItems: number;
  webhookAttempts: number;
  /** Refusals per second, by reason. */
  refusals: Record<string, number>;
  /** Delivered pictures per second, by their source (such as the cache). */
  delivered: Record<string, number>;
  /** The number of open sockets, including those to stores. */
  connections: number;
  memoryBytes: number;
  /** Processes that the kernel killed in this time because memory ran out. */
  memoryKills: number;
  /**
   * The share of time in which the CPU quota throttled a host. It can exceed 1, because the times of the cores add up.
   */
  throttled: number;
  /** The share of time for which the hypervisor gave the host's cores to other machines. */
  stolen: number;
  /** The share of time in which some task of the host was ready to run but had no core. */
  pressure: number;
  /** The share of the granted cores that the service used; 0 for a process. */
  cpu: number;
  /** Image threads for quick passes, and how many of them are busy. */
  imageThreads: number;
  imageBusy: number;
  /** The number of API processes. */
  processes: number;
  /** The granted cores of a host; 0 for a process. */
  cores: number;
  /** The cores in use, keyed by the role of the process; empty in the row of a single process. */
  cpuByRole: Record<string, number>;
  memoryByRole: Record<string, number>;
  countByRole: Record<string, number>;
  /** The disk of DATA_DIR: free bytes, and bytes that are kept free. Null in the row of a process. */
  disk: { freeBytes: number; reservedBytes: number } | null;
  /** The accounts with the most calls; the busiest first. */
  accounts: AccountLoad[];
}

/** The calls of an account per second, and how many of them were refused. */
interface AccountLoad {
  id: string;
  calls: number;
  /** Calls that were answered with 429 or 503. */
  refused: number;
}

/** A process of a host, with the two snapshots between which its load is computed. */
export interface ObservedProcess {
  hostId: string;
  processId: string;
  before: LoadSnapshot;
  after: LoadSnapshot;
}

/** The increases of counters between two snapshots, and the gauges of the second. */
interface SnapshotDifference {
  seconds: number;
  values: Record<string, number>;
  accounts: NonNullable<LoadSnapshot['accounts']>;
}

const GAUGE_METRIC_PATTERN =
  /^(darkroom_pool_(queued|busy|threads)|darkroom_process_memory|darkroom_processes|darkroom_job_items|darkroom_webhook_attempts|darkroom_cpu_cores|darkroom_data|darkroom_memory_limit|process_resident|nodejs_active)/;
/** The most accounts that a row lists. */
const MAX_LISTED_ACCOUNTS = 5;
const DURATION_BUCKET_PREFIX = 'darkroom_request_duration_seconds_bucket ';
const REFUSALS_PREFIX = 'darkroom_refusals_total ';
const DELIVERED_PREFIX = 'darkroom_delivery_pictures_total ';
const PICTURE_PHASES = ['decode', 'process', 'encode'];
const MS_PER_SECOND = 1_000;

/** A row for each process, followed by one for its host; with several hosts, a last row for all of them. */
export function loadRowsBetween(observed: readonly ObservedProcess[]): LoadRow[] {
  const byHost = Map.groupBy(observed, ({ hostId }) => hostId);
  const rows = [...byHost].flatMap(([hostId, processes]) => [
    ...processes
      .filter(({ processId }) => processId !== PRIMARY_PROCESS_ID)
      .map((one) => loadRowOf('process', `${hostId}/${one.processId}`, [one])),
    loadRowOf('host', hostId, processes),
  ]);
  return byHost.size > 1 ? [...rows, loadRowOf('all hosts', 'all hosts', observed)] : rows;
}

/** The load of some processes together. */
export function loadRowOf(
  scope: LoadRow['scope'],
  name: string,
  observed: readonly ObservedProcess[],
): LoadRow {
  const { seconds, values, accounts } = sumDifferences(observed.map(snapshotDifferenceOf));
  const of = (key: string) => values[key] ?? 0;
  const total = (metric: string) =>
    Object.values(valuesByLabel(values, metric)).reduce((sum, value) => sum + value, 0);
  const hosts = new Set(observed.map(({ hostId }) => hostId)).size;
  const ofHost = (key: string) => of(key) / seconds / hosts;
  const answers = of('darkroom_request_duration_seconds_count');
  const perAnswer = (total: number) => (answers > 0 ? (total * MS_PER_SECOND) / answers : 0);
  const storeSeconds = of('darkroom_request_store_seconds_total');
  const allSeconds = of('darkroom_store_duration_seconds_sum');
  const providerSeconds = of('darkroom_provider_call_seconds_sum');
  const providerCalls = of('darkroom_provider_call_seconds_count');
  const part = (...names: string[]) =>
    perAnswer(names.reduce((sum, one) => sum + of(`darkroom_op_part_seconds_total call ${one}`), 0));
  return {
    name,
    scope,
    requestsPerSecond: answers / seconds,
    p50: percentileMs(values, 0.5),
    p99: percentileMs(values, 0.99),
    waiting: of('darkroom_pool_queued'),
    waitMs: perAnswer(of('darkroom_pool_wait_seconds_sum call')),
    uploadMs: part('fetch'),
    pixelsMs: part(...PICTURE_PHASES),
    storeMs: perAnswer(storeSeconds),
    backgroundStoreShare: allSeconds === 0 ? 0 : Math.max(0, 1 - storeSeconds / allSeconds),
    jobItems: of('darkroom_job_items_running'),
    webhookAttempts: of('darkroom_webhook_attempts_in_flight'),
    providerMs: providerCalls === 0 ? 0 : (providerSeconds * MS_PER_SECOND) / providerCalls,
    refusals: ratesByLabel(values, REFUSALS_PREFIX, seconds),
    delivered: ratesByLabel(values, DELIVERED_PREFIX, seconds),
    connections: of('nodejs_active_resources TCPSocketWrap'),
    // The primary measures all processes of its host, including browsers.
    memoryBytes: total('darkroom_process_memory_bytes') || of('process_resident_memory_bytes'),
    memoryKills: of('darkroom_memory_kills_total'),
    throttled: ofHost('darkroom_cpu_throttled_seconds_total'),
    stolen: ofHost('darkroom_cpu_stolen_seconds_total'),
    pressure: ofHost('darkroom_cpu_pressure_seconds_total'),
    cpu: total('darkroom_process_cpu_seconds_total') / seconds / (of('darkroom_cpu_cores') || 1),
    imageThreads: of('darkroom_pool_threads image'),
    imageBusy: of('darkroom_pool_busy image'),
    processes: observed.filter(({ processId }) => processId !== PRIMARY_PROCESS_ID).length,
    cores: of('darkroom_cpu_cores'),
    cpuByRole: multiplyValues(valuesByLabel(values, 'darkroom_process_cpu_seconds_total'), 1 / seconds),
    memoryByRole: valuesByLabel(values, 'darkroom_process_memory_bytes'),
    countByRole: valuesByLabel(values, 'darkroom_processes'),
    disk: diskOf(values),
    accounts: busiestAccounts(accounts, seconds),
  };
}

/** The values of a metric, keyed by the value of its label. For a metric without a label, the key is ''. */
function valuesByLabel(values: Readonly<Record<string, number>>, metric: string): Record<string, number> {
  const ofMetric = Object.entries(values).filter(([key]) => key === metric || key.startsWith(`${metric} `));
  return Object.fromEntries(ofMetric.map(([key, value]) => [key.slice(metric.length + 1), value]));
}

function multiplyValues(values: Readonly<Record<string, number>>, factor: number): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value * factor]));
}

function diskOf(values: Readonly<Record<string, number>>): LoadRow['disk'] {
  const freeBytes = values.darkroom_data_free_bytes;
  if (freeBytes === undefined) return null;
  return { freeBytes, reservedBytes: values.darkroom_data_reserve_bytes ?? 0 };
}

function busiestAccounts(accounts: SnapshotDifference['accounts'], seconds: number): AccountLoad[] {
  return Object.entries(accounts)
    .filter(([, { calls }]) => calls > 0)
    .sort(([, one], [, other]) => other.calls - one.calls)
    .slice(0, MAX_LISTED_ACCOUNTS)
    .map(([id, { calls, refused }]) => ({ id, calls: calls / seconds, refused: refused / seconds }));
}

function snapshotDifferenceOf({ before, after }: ObservedProcess): SnapshotDifference {
  const values = Object.entries(after.values).map(([key, value]) => [
    key,
    GAUGE_METRIC_PATTERN.test(key) ? value : Math.max(0, value - (before.values[key] ?? 0)),
  ]);
  const accounts = Object.entries(after.accounts ?? {}).map(([id, { calls, refused }]) => {
    const earlier = before.accounts?.[id] ?? { calls: 0, refused: 0 };
    const since = { calls: calls - earlier.calls, refused: refused - earlier.refused };
    return [id, { calls: Math.max(0, since.calls), refused: Math.max(0, since.refused) }];
  });
  return {
    seconds: (after.atMs - before.atMs) / MS_PER_SECOND,
    values: Object.fromEntries(values),
    accounts: Object.fromEntries(accounts),
  };
}

/** Adds up the counters of several processes. The duration is the longest one, because they ran at the same time. */
function sumDifferences(parts: readonly SnapshotDifference[]): SnapshotDifference {
  const values: Record<string, number> = {};
  const accounts: SnapshotDifference['accounts'] = {};
  for (const part of parts) {
    for (const [key, value] of Object.entries(part.values)) values[key] = (values[key] ?? 0) + value;
    for (const [id, { calls, refused }] of Object.entries(part.accounts)) {
      const sum = accounts[id] ?? { calls: 0, refused: 0 };
      accounts[id] = { calls: sum.calls + calls, refused: sum.refused + refused };
    }
  }
  return { seconds: Math.max(0.001, ...parts.map(({ seconds }) => seconds)), values, accounts };
}

/** Interpolates a percentile as Prometheus does: durations are assumed to be evenly distributed within their bucket. */
function percentileMs(values: Readonly<Record<string, number>>, share: number): number | null {
  const buckets = Object.entries(values)
    .filter(([key]) => key.startsWith(DURATION_BUCKET_PREFIX))
    .map(([key, count]) => ({ bound: bucketBoundOf(key.slice(DURATION_BUCKET_PREFIX.length)), count }))
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

function bucketBoundOf(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text);
}

/**
 * The rates of a counter, keyed by the last label that is not empty. A refusal without a reason is thus listed by its
 * code.
 */
function ratesByLabel(
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
