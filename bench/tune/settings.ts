import { envFile, saveSettings } from '../../config/env-file.ts';
import { loadSettingsFile } from '../../config/index.ts';
import type { Candidate } from './candidates.ts';

/** The settings that tune tries. */
export const TUNED = [
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
  /** Names of those that the environment sets. It wins over the file, which so cannot change them. */
  ofEnvironment: string[];
}

/**
 * Reads the tuned settings of the environment and of the file, and takes them out of the environment: the instances
 * that tune starts have only those of their trial, and nothing else of the file.
 * @throws SettingsError if the file has a line that is not a setting.
 */
export function takeCurrentSettings(file = envFile()): CurrentSettings {
  const isSet = (name: string) => (process.env[name] ?? '') !== '';
  const ofEnvironment = TUNED.filter(isSet);
  const before = new Set(Object.keys(process.env));
  loadSettingsFile(file);
  const settings = Object.fromEntries(TUNED.filter(isSet).map((name) => [name, String(process.env[name])]));
  const ofFile = Object.keys(process.env).filter((name) => !before.has(name));
  for (const name of [...TUNED, ...ofFile]) delete process.env[name];
  return { settings, ofEnvironment };
}

/**
 * Merges the recommended settings into the file, if they differ from the present ones: what is set now and not
 * recommended becomes a comment.
 * @returns sentences that say what was written, and what the operator has to change in the environment.
 * @throws Error if the file cannot be written.
 */
export function writeRecommended(
  recommended: Candidate,
  { settings, ofEnvironment }: CurrentSettings,
  file = envFile(),
): string[] {
  const changed: Record<string, string | null> = {};
  for (const name of TUNED) {
    const value = recommended[name] ?? null;
    if (value !== (settings[name] ?? null)) changed[name] = value;
  }
  const names = Object.keys(changed);
  if (names.length === 0) return [];
  saveSettings(changed, { path: file, keepsBefore: true });
  const written = names.map((name) =>
    changed[name] === null ? `${name} is a comment now` : `${name}=${changed[name]}`,
  );
  const overriding = names.filter((name) => ofEnvironment.includes(name));
  return [
    `→ ${file}: ${written.join(', ')} (before: ${file}.before)`,
    ...overriding.map(
      (name) =>
        `The environment sets ${name}=${settings[name]}, which wins over the file: ${changed[name] === null ? 'take it out' : `set ${changed[name]}`} there.`,
    ),
  ];
}
