import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { HostVerdict } from '../operator/schema.ts';
import type { LoadRow } from './top.ts';

/** A serving process, and the time since its last heartbeat. */
export interface ProcessSilence {
  name: string;
  silentMs: number;
  /** The value of HANG_TIMEOUT_MS, after which the primary kills the process. */
  timeoutMs: number;
}

/** A response that takes at least this long counts as slow. For quicker responses, no cause is named. */
const MIN_SLOW_MS = 250;
/** If cores were missing for at least this share of the time, they are named as the cause of slow responses. */
const MIN_MISSING_CORE_SHARE = 0.1;
/**
 * If the service uses a smaller share of its cores than this while tasks wait for a core, other programs are the cause.
 */
const MIN_SATURATED_CPU_SHARE = 0.8;
/**
 * The wait for stores, models or clients is named as the cause if it takes at least this many times as long as the work
 * on pixels and the wait for it.
 */
const MIN_EXTERNAL_WAIT_FACTOR = 3;
/** If background work takes at least this share of the query time, less background work is proposed. */
const MIN_BACKGROUND_SHARE = 0.5;
/** If fewer background tasks per process than this are in progress, no reduction is proposed. */
const MIN_REDUCIBLE_TASKS = 4;
const TASK_REDUCTION_FACTOR = 10;
/**
 * An account counts as flooding if it has at least this many refused calls per second, and if at least this share of
 * its calls is refused.
 */
const MIN_FLOOD_REFUSALS_PER_SECOND = 1;
const MIN_FLOOD_REFUSED_SHARE = 0.5;
/** A shorter silence is not reported: a heartbeat comes each second, but a busy process may be some seconds late. */
const MIN_REPORTED_SILENCE_MS = 4_000;
/** The death of a process is reported for this long. */
const MAX_REPORTED_RESTART_AGE_MS = 120_000;
const NO_FIGURES_YET_VERDICT: HostVerdict = { tone: 'good', sentence: 'The first figures come within 20 s.' };

/** The facts about a host from which its verdicts are derived. */
interface HostCondition {
  /** The load of the host; null until there are two snapshots. */
  row: LoadRow | null;
  silent?: readonly ProcessSilence[];
  /** The last process that died and was replaced. */
  restart?: { text: string; agoMs: number } | undefined;
}

/** Everything that is wrong with a host, the most serious first. If nothing is wrong, one sentence says so. */
export function verdictsOnHost({ row, silent = [], restart }: HostCondition): HostVerdict[] {
  const found = [
    ...silent.map(hungProcessVerdict),
    ...(row === null
      ? []
      : [fullDiskVerdict(row), unavailableStoreVerdict(row), memoryVerdict(row), floodVerdict(row)]),
    restart === undefined ? null : replacedProcessVerdict(restart),
  ].filter((verdict) => verdict !== null);
  const cause = row === null ? NO_FIGURES_YET_VERDICT : slowResponseVerdict(row);
  return found.length === 0 || cause.tone !== 'good' ? [...found, cause] : found;
}

/**
 * The verdicts on all hosts. If there are several hosts, each verdict begins with the name of its host. If nothing is
 * wrong, one sentence says so for all of them.
 */
export function verdictsOnAllHosts(rows: readonly LoadRow[]): HostVerdict[] {
  const hosts = rows.filter(({ scope }) => scope === 'host');
  const wrong = hosts.flatMap((row) => {
    const verdicts = verdictsOnHost({ row }).filter(({ tone }) => tone !== 'good');
    if (hosts.length === 1) return verdicts;
    return verdicts.map((verdict) => ({ ...verdict, sentence: `${row.name}: ${verdict.sentence}` }));
  });
  const total = rows.at(-1);
  return wrong.length > 0 || total === undefined ? wrong : verdictsOnHost({ row: total });
}

function hungProcessVerdict({ name, silentMs, timeoutMs }: ProcessSilence): HostVerdict | null {
  if (silentMs < MIN_REPORTED_SILENCE_MS) return null;
  const [silent, timeout] = [silentMs, timeoutMs].map((ms) => `${Math.round(ms / 1_000)} s`);
  const sentence = `The process ${name} hangs: it has not answered for ${silent}, and is replaced after ${timeout} (HANG_TIMEOUT_MS). Its calls wait until then.`;
  return { tone: 'bad', sentence };
}

function replacedProcessVerdict({ text, agoMs }: { text: string; agoMs: number }): HostVerdict | null {
  if (agoMs > MAX_REPORTED_RESTART_AGE_MS) return null;
  const sentence = `${text}: ${Math.round(agoMs / 1_000)} s ago. The log says why; see "Processes are replaced" in docs/operating.md.`;
  return { tone: 'warn', sentence };
}

function fullDiskVerdict({ disk }: LoadRow): HostVerdict | null {
  if (disk === null || disk.freeBytes > disk.reservedBytes) return null;
  const [free, reserved] = [disk.freeBytes, disk.reservedBytes].map(
    (bytes) => `${Math.round(bytes / MEGABYTE_BYTES)} MB`,
  );
  const sentence = `The disk of DATA_DIR is full: ${free} are free, and ${reserved} are kept free (STORAGE_RESERVE_MEGABYTES), so uploads and jobs are refused. Make room; deleting works.`;
  return { tone: 'bad', sentence };
}

function unavailableStoreVerdict({ refusals }: LoadRow): HostVerdict | null {
  const perSecond = refusals.store_unavailable ?? 0;
  if (perSecond === 0) return null;
  const sentence = `A store does not answer: ${formatRate(perSecond)} calls/s fail as store_unavailable. /readyz names it; see "A store is away" in docs/operating.md.`;
  return { tone: 'bad', sentence };
}

/**
 * The verdict on a host whose memory ran out: the kernel killed processes, and the calls that they served have failed.
 */
function memoryVerdict({ memoryKills }: LoadRow): HostVerdict | null {
  if (memoryKills === 0) return null;
  const killed = memoryKills === 1 ? 'a process' : `${memoryKills} processes`;
  const sentence = `Memory ran out, and the kernel killed ${killed} of the service. Give it more memory, or lower PROCESSES; see "Memory is short" in docs/operating.md.`;
  return { tone: 'bad', sentence };
}

/** The verdict on a host that one account floods with calls, most of which are refused. */
function floodVerdict({ accounts, refusals, requestsPerSecond }: LoadRow): HostVerdict | null {
  const flooding = accounts.find(
    ({ calls, refused }) =>
      refused >= MIN_FLOOD_REFUSALS_PER_SECOND && refused >= MIN_FLOOD_REFUSED_SHARE * calls,
  );
  if (flooding === undefined) return null;
  const [reason] = Object.entries(refusals).sort(([, one], [, other]) => other - one)[0] ?? ['its limits'];
  const sentence = `The account ${flooding.id} floods: it makes ${formatRate(flooding.calls)} of ${formatRate(requestsPerSecond)} calls/s, and ${formatRate(flooding.refused)} of them are refused (mostly ${reason}). Others keep their turns; \`npm run admin -- account suspend ${flooding.id}\` stops it.`;
  return { tone: 'warn', sentence };
}

function formatRate(perSecond: number): string {
  return perSecond >= 10 ? perSecond.toFixed(0) : perSecond.toFixed(1);
}

/**
 * The most likely cause of the slowest responses: missing cores, or otherwise the part of a response that takes longest
 * on average.
 */
export function slowResponseVerdict(row: LoadRow): HostVerdict {
  if (row.p99 === null) return { tone: 'good', sentence: 'Nothing was answered in this time.' };
  if (row.p99 < MIN_SLOW_MS) {
    const sentence = `Nothing is slow: p99 is ${Math.round(row.p99)} ms, and a cause is named from ${MIN_SLOW_MS} ms on.`;
    return { tone: 'good', sentence };
  }
  const { throttled, stolen, pressure, cpu } = row;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const slowBecause = (cause: string) => slowVerdict(`Likeliest cause of a slow p99: ${cause}`);
  if (throttled >= MIN_MISSING_CORE_SHARE)
    return slowBecause(
      `the CPU quota, which held the host up for ${percent(throttled)} of the time. Grant more CPU, or lower PROCESSES.`,
    );
  if (stolen >= MIN_MISSING_CORE_SHARE)
    return slowBecause(
      `stolen CPU: the hypervisor gave the cores of this machine to others for ${percent(stolen)} of the time. Move the service to a machine whose cores are its own.`,
    );
  const largest = largestPartVerdict(row);
  if (largest.fix !== undefined || waitsMostlyForOthers(row)) return largest;
  if (pressure >= MIN_MISSING_CORE_SHARE && cpu < MIN_SATURATED_CPU_SHARE)
    return slowBecause(
      `other programs of this machine: tasks waited for a core for ${percent(pressure)} of the time, while the service used ${percent(cpu)} of its cores. Move them, or lower PROCESSES.`,
    );
  return largest;
}

/**
 * Whether most of the time was spent on stores or clients. This rules out a lack of cores, which would also make the
 * work on pixels long.
 */
function waitsMostlyForOthers({ storeMs, uploadMs, waitMs, pixelsMs }: LoadRow): boolean {
  return Math.max(storeMs, uploadMs) >= MIN_EXTERNAL_WAIT_FACTOR * (waitMs + pixelsMs);
}

function slowVerdict(sentence: string, fix?: HostVerdict['fix']): HostVerdict {
  return { tone: 'warn', sentence, ...(fix !== undefined && { fix }) };
}

function largestPartVerdict(row: LoadRow): HostVerdict {
  const causes = [
    [row.waitMs, 'the wait for a thread', 'Add cores or hosts, or refuse earlier (IMAGE_WAIT_MS).'],
    [row.uploadMs, 'uploads and fetched urls', 'Clients or their network are slow; the host waits for them.'],
    [row.pixelsMs, 'the work on pixels', 'Pictures are large or ops costly; more cores make more at once.'],
    [row.storeMs, 'the stores', 'See "A store is slow" in docs/operating.md.'],
  ] as const;
  const [ms, cause, remedy] = causes.reduce((most, one) => (one[0] > most[0] ? one : most));
  if (ms === 0) return slowVerdict('No measured part of the answers took any time.');
  const sentence = `Likeliest cause of a slow p99: ${cause}, ${Math.round(ms)} ms of the mean answer.`;
  const proposal = PROPOSALS_BY_CAUSE[cause]?.(row);
  if (proposal === undefined) return slowVerdict(`${sentence} ${remedy}`);
  const { because, fix } = proposal;
  return slowVerdict(`${sentence} ${because}: set ${fix.setting}=${fix.value}.`, fix);
}

/** A change of a setting that removes a cause, and the fact that supports it. */
interface SettingProposal {
  because: string;
  fix: NonNullable<HostVerdict['fix']>;
}

/** The functions that propose a change of a setting, keyed by the cause of slow responses. */
const PROPOSALS_BY_CAUSE: Readonly<Record<string, (row: LoadRow) => SettingProposal | undefined>> = {
  'the wait for a thread': proposeMoreThreads,
  'the stores': proposeFewerTasks,
};

/** If there are fewer image threads than cores, proposes enough threads per process to use all cores. */
function proposeMoreThreads({ imageThreads, cores, processes }: LoadRow): SettingProposal | undefined {
  if (processes === 0 || imageThreads >= Math.floor(cores)) return undefined;
  const [are, threads] = imageThreads === 1 ? ['is', 'thread'] : ['are', 'threads'];
  return {
    because: `There ${are} ${imageThreads} image ${threads} for ${Math.floor(cores)} cores`,
    fix: { setting: 'IMAGE_THREADS', value: Math.ceil(Math.floor(cores) / processes) },
  };
}

/** Proposes fewer concurrent job items or webhooks, if most of the stores' work is in the background. */
function proposeFewerTasks(row: LoadRow): SettingProposal | undefined {
  const { processes, backgroundStoreShare: share, jobItems, webhookAttempts } = row;
  const hasMoreItems = jobItems >= webhookAttempts;
  const tasks = Math.max(jobItems, webhookAttempts);
  if (processes === 0 || share < MIN_BACKGROUND_SHARE || tasks < MIN_REDUCIBLE_TASKS * processes)
    return undefined;
  const what = hasMoreItems ? 'items of jobs are in hand' : 'webhooks are on their way';
  return {
    because: `Work in the background takes ${Math.round(share * 100)} % of their time, and ${tasks} ${what}`,
    fix: hasMoreItems
      ? { setting: 'JOB_ITEMS', value: reducedTasks(jobItems / processes) }
      : { setting: 'WEBHOOK_CONCURRENCY', value: reducedTasks(webhookAttempts) },
  };
}

function reducedTasks(tasks: number): number {
  return Math.max(1, Math.floor(tasks / TASK_REDUCTION_FACTOR));
}
