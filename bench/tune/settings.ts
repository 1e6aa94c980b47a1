import { envFile, saveSettings } from '../../config/env-file.ts';
import { loadSettingsFile } from '../../config/index.ts';

/** Settings by their names in the environment. The default has none. */
export type Candidate = Record<string, string>;

/** The resources of a host: cores and memory within its cgroup's limits. */
interface HostLimits {
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
export function combineBest(best: readonly Candidate[]): Candidate[] {
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

/** The settings that tune tries. */
export const TUNED_SETTINGS = [
  'PROCESSES',
  'IMAGE_THREADS',
  'RENDER_THREADS',
  'UV_THREADPOOL_SIZE',
  'IMAGE_MEMORY_MEGABYTES',
  'IMAGE_QUEUE',
] as const;

/** The tuned settings that are in force now. */
export interface CurrentSettings {
  settings: Candidate;
  /**
   * The names of those that the environment sets. A change of the file has no effect on them, because the environment
   * takes precedence.
   */
  setByEnvironment: string[];
}

/**
 * Reads the tuned settings of the environment and of the file, and takes them out of the environment: the instances
 * that tune starts have only those of their trial, and nothing else of the file.
 * @throws SettingsError if the file has a line that is not a setting.
 */
export function readCurrentSettings(file = envFile()): CurrentSettings {
  const isSet = (name: string) => (process.env[name] ?? '') !== '';
  const setByEnvironment = TUNED_SETTINGS.filter(isSet);
  const before = new Set(Object.keys(process.env));
  loadSettingsFile(file);
  const settings = Object.fromEntries(
    TUNED_SETTINGS.filter(isSet).map((name) => [name, String(process.env[name])]),
  );
  const ofFile = Object.keys(process.env).filter((name) => !before.has(name));
  for (const name of [...TUNED_SETTINGS, ...ofFile]) delete process.env[name];
  return { settings, setByEnvironment };
}

/**
 * Merges the recommended settings into the file, if they differ from the present ones: what is set now and not
 * recommended becomes a comment.
 * @returns sentences that say what was written, and what the operator has to change in the environment.
 * @throws Error if the file cannot be written.
 */
export function writeRecommended(
  recommended: Candidate,
  { settings, setByEnvironment }: CurrentSettings,
  file = envFile(),
): string[] {
  const changed: Record<string, string | null> = {};
  for (const name of TUNED_SETTINGS) {
    const value = recommended[name] ?? null;
    if (value !== (settings[name] ?? null)) changed[name] = value;
  }
  const names = Object.keys(changed);
  if (names.length === 0) return [];
  saveSettings(changed, { path: file, keepsBefore: true });
  const written = names.map((name) =>
    changed[name] === null ? `${name} is a comment now` : `${name}=${changed[name]}`,
  );
  const overriding = names.filter((name) => setByEnvironment.includes(name));
  return [
    `→ ${file}: ${written.join(', ')} (before: ${file}.before)`,
    ...overriding.map(
      (name) =>
        `The environment sets ${name}=${settings[name]}, which wins over the file: ${changed[name] === null ? 'take it out' : `set ${changed[name]}`} there.`,
    ),
  ];
}
