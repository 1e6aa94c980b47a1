/** Settings by their names in the environment. The default has none. */
export type Candidate = Record<string, string>;

/** The resources of a host: cores and memory within its cgroup's limits. */
export interface HostLimits {
  cores: number;
  memoryMegabytes: number;
}

/** Memory that one more process takes before it does any work. */
const PROCESS_MEGABYTES = 300;

/**
 * Settings worth a trial on a host. Each differs from the default in one respect only, so that an improvement has a
 * clear cause.
 */
export function firstCandidates({ cores, memoryMegabytes }: HostLimits): Candidate[] {
  const mostProcesses = Math.max(1, Math.floor(memoryMegabytes / 2 / PROCESS_MEGABYTES));
  const processes = distinct([1, Math.ceil(cores / 2), cores - 1, cores + 1, cores * 2]).filter(
    (count) => count >= 1 && count !== cores && count <= mostProcesses,
  );
  const perProcess = memoryMegabytes / 4 / cores;
  return [
    ...processes.map((count) => ({ PROCESSES: String(count) })),
    { IMAGE_THREADS: '2' },
    { PROCESSES: '1', IMAGE_THREADS: String(Math.max(2, cores)) },
    { RENDER_THREADS: '2' },
    { UV_THREADPOOL_SIZE: '4' },
    { UV_THREADPOOL_SIZE: '16' },
    { IMAGE_MEMORY_MEGABYTES: String(Math.max(64, Math.floor(perProcess / 2))) },
    { IMAGE_QUEUE: '16' },
    { IMAGE_QUEUE: '256' },
  ].filter((candidate, index, all) => all.findIndex((other) => keyOf(other) === keyOf(candidate)) === index);
}

/**
 * Joins pairs of the best candidates that do not set the same setting, because settings that help alone may help
 * together.
 */
export function joined(best: readonly Candidate[]): Candidate[] {
  return best.flatMap((one, index) =>
    best.slice(index + 1).flatMap((other) => {
      const clash = Object.keys(one).some((name) => name in other);
      return clash ? [] : [{ ...one, ...other }];
    }),
  );
}

export function keyOf(candidate: Candidate): string {
  const settings = Object.entries(candidate).sort(([a], [b]) => a.localeCompare(b));
  return settings.length === 0 ? 'default' : settings.map(([name, value]) => `${name}=${value}`).join(' ');
}

function distinct(values: readonly number[]): number[] {
  return [...new Set(values)];
}
