import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * The limits that the control groups of a process (cgroups, version 2 or 1) set. A field is null if no group limits it.
 */
interface ControlGroupLimits {
  /** The CPU quota in cores, such as 0.5. */
  cores: number | null;
  memoryBytes: number | null;
  /** The limit on processes and threads together. */
  tasks: number | null;
}

/** The files in which the kernel describes control groups. */
interface ControlGroupFiles {
  /** The folder in which all hierarchies are mounted. */
  root?: string;
  /** The file that names the group of this process in each hierarchy. */
  membership?: string;
}

type CgroupController = 'cpu' | 'memory' | 'pids';

const MICROSECONDS_PER_SECOND = 1e6;
const NANOSECONDS_PER_SECOND = 1e9;

/** The smallest limits of this process's group and all its parents, because each of them applies. */
export function readControlGroupLimits(files: ControlGroupFiles = {}): ControlGroupLimits {
  const cpu = findGroupFolders('cpu', files).map(readQuotaOfGroup);
  const memory = findGroupFolders('memory', files).flatMap((group) =>
    ['memory.max', 'memory.high', 'memory.limit_in_bytes'].map((name) => readNumber(join(group, name))),
  );
  const tasks = findGroupFolders('pids', files).map((group) => readNumber(join(group, 'pids.max')));
  return { cores: smallestLimit(cpu), memoryBytes: smallestLimit(memory), tasks: smallestLimit(tasks) };
}

/**
 * The seconds for which the CPU quota has throttled this process's group, or a parent, since the group was created. The
 * result is that of the most throttled group, or null if no group reports it.
 */
export function readThrottledSeconds(files: ControlGroupFiles = {}): number | null {
  const seconds = findGroupFolders('cpu', files).flatMap(
    (group) => readThrottledSecondsIn(join(group, 'cpu.stat')) ?? [],
  );
  return seconds.length === 0 ? null : Math.max(...seconds);
}

/**
 * The number of processes of this process's group that the kernel has killed because memory ran out, or null if the
 * group does not report it. The counts of parents are left out, because they include other services.
 */
export function readMemoryKills(files: ControlGroupFiles = {}): number | null {
  const counts = findGroupFolders('memory', files).flatMap((group) =>
    ['memory.events', 'memory.oom_control'].map((name) => readCounters(join(group, name)).get('oom_kill')),
  );
  return counts.find((count) => count !== undefined) ?? null;
}

/**
 * The folders of this process's group and then of its parents, in each hierarchy that may have the controller. A
 * container often sees its own group as the root. Its path within the host does not exist there; such folders have no
 * files and are skipped.
 */
function findGroupFolders(
  controller: CgroupController,
  { root = '/sys/fs/cgroup', membership = '/proc/self/cgroup' }: ControlGroupFiles,
): string[] {
  const lines = (readKernelFile(membership) ?? '').split('\n').map((line) => line.split(':'));
  const paths = (isMeant: (controllers: string) => boolean) =>
    lines.flatMap(([, controllers = '', ...path]) =>
      isMeant(controllers) ? withParents(path.join(':')) : [],
    );
  const first = paths((controllers) => controllers.split(',').includes(controller));
  const second = paths((controllers) => controllers === '');
  const mounts = [
    { mount: join(root, controller), groups: first },
    { mount: root, groups: second },
    // A host that mounts both versions has version 2 in a separate folder.
    { mount: join(root, 'unified'), groups: second },
  ];
  return mounts.flatMap(({ mount, groups }) => [...groups, '/'].map((group) => join(mount, group)));
}

/** The path of a group and of its parents: `/a/b` gives `/a/b` and `/a`. The root is left out. */
function withParents(path: string): string[] {
  return path === '/' || path === '' || path === '.' ? [] : [path, ...withParents(dirname(path))];
}

/** The CPU quota of a group in cores: `200000 100000` are 2 cores. Null without a limit (`max 100000`, `-1 100000`). */
function readQuotaOfGroup(group: string): number | null {
  const second = readKernelFile(join(group, 'cpu.max'));
  const first = () =>
    ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => readKernelFile(join(group, name)));
  const [quota = 0, period = 0] = (second?.split(' ') ?? first()).map(Number);
  return quota > 0 && period > 0 ? quota / period : null;
}

function readThrottledSecondsIn(path: string): number | null {
  const values = readCounters(path);
  if (!values.has('nr_periods') || !values.has('nr_throttled')) return null;
  const microseconds = values.get('throttled_usec');
  if (microseconds === undefined) return (values.get('throttled_time') ?? 0) / NANOSECONDS_PER_SECOND;
  return microseconds / MICROSECONDS_PER_SECOND;
}

/** The numbers in a file of lines such as `oom_kill 3`, by name; empty if there is no file. */
function readCounters(path: string): Map<string, number> {
  const lines = (readKernelFile(path) ?? '').split('\n').map((line) => line.split(' '));
  return new Map(lines.map(([name = '', value]) => [name, Number(value)]));
}

/** The number in a file; null for `max`, and if there is no file. */
function readNumber(path: string): number | null {
  const number = Number(readKernelFile(path) ?? Number.NaN);
  return Number.isFinite(number) ? number : null;
}

function smallestLimit(limits: ReadonlyArray<number | null>): number | null {
  const numbers = limits.filter((limit) => limit !== null);
  return numbers.length === 0 ? null : Math.min(...numbers);
}

/** The text of a file of the kernel; undefined if there is none. */
export function readKernelFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Bytes of memory that this host may use: those of the machine, or of its control groups if they grant less. */
export function usableMemoryBytes(): number {
  return Math.min(totalmem(), readControlGroupLimits().memoryBytes ?? Number.POSITIVE_INFINITY);
}

/** The CPU quota of the control groups in cores, such as 0.5; null without a quota. */
function readQuotaCores(): number | null {
  return readControlGroupLimits().cores;
}

/** The cores that the service may use: those of the machine, or the quota if it is smaller. */
export function grantedCores(quota = readQuotaCores(), cores = availableParallelism()): number {
  return Math.min(cores, quota ?? cores);
}

/** The default number of processes: one per available core, and at least one. */
export function defaultProcessCount(quota = readQuotaCores(), cores = availableParallelism()): number {
  return Math.max(1, Math.floor(grantedCores(quota, cores)));
}

/** The sentence in the start log that explains the number of processes. */
export function processCountSentence(processes: number, isSet: boolean, quota = readQuotaCores()): string {
  const cores = availableParallelism();
  const why = isSet
    ? 'as set by PROCESSES'
    : quota === null || quota >= cores
      ? `one for each of ${cores} CPU cores`
      : `the CPU quota is ${quota}`;
  return `${processes} API ${processes === 1 ? 'process' : 'processes'}: ${why}`;
}
