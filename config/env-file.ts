import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { nearest } from '../src/platform/names/nearest.ts';

/** The default of ENV_FILE, in the folder in which the service is started. */
export const DEFAULT_ENV_FILE = 'darkroom.env';

/** The path of the settings file. It is taken from the environment alone, because the file cannot name itself. */
export function envFile(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.ENV_FILE || DEFAULT_ENV_FILE;
}

/**
 * Reads the file, if it exists, into the environment. The environment takes precedence.
 * @param known the names of all settings.
 * @returns a sentence for each line that is no setting, or has a misspelt name; with any, nothing is read.
 */
export function loadEnvFile(known: readonly string[], path = envFile()): string[] {
  if (!existsSync(path)) return [];
  const violations = violationsIn(readFileSync(path, 'utf8'), { known, path });
  if (violations.length === 0) process.loadEnvFile(path);
  return violations;
}

/** A name that resembles no setting is accepted, because other programs may read the file too. */
function violationsIn(text: string, { known, path }: { known: readonly string[]; path: string }): string[] {
  return text.split('\n').flatMap((line, index) => {
    const where = `${path}, line ${index + 1}`;
    const content = line.trim();
    if (content === '' || content.startsWith('#')) return [];
    const name = nameIn(line);
    if (name === undefined) return [`${where} is no setting: write NAME=value, or begin it with #.`];
    const meant = known.includes(name) ? undefined : nearest(name, known);
    return meant === undefined ? [] : [`${where}: there is no setting ${name}. Did you mean ${meant}?`];
  });
}

/** The name that a line sets; undefined where it sets none. */
function nameIn(line: string): string | undefined {
  return /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/.exec(line)?.[1];
}

/**
 * Writes settings into the file, which keeps its comments and its other lines. The file is replaced atomically, so
 * that a crash leaves the old one.
 * @param settings by name; null restores the default, by turning the lines of the setting into comments.
 * @param keepsBefore keeps a copy of the previous file with the suffix `.before`.
 * @throws Error of the file system where the folder cannot be written.
 */
export function saveSettings(
  settings: Readonly<Record<string, string | null>>,
  { path = envFile(), keepsBefore = false }: { path?: string; keepsBefore?: boolean } = {},
): void {
  const before = existsSync(path) ? readFileSync(path, 'utf8').replace(/\n$/, '').split('\n') : [];
  const lines = before.map((line) => (settings[nameIn(line) ?? ''] === null ? `# ${line}` : line));
  for (const [name, value] of Object.entries(settings)) {
    if (value === null) continue;
    const line = `${name}=${value}`;
    const at = lines.findLastIndex((text) => nameIn(text) === name);
    if (at === -1) lines.push(line);
    else lines[at] = line;
  }
  writeFileSync(`${path}.new`, `${lines.join('\n')}\n`);
  if (keepsBefore && existsSync(path)) copyFileSync(path, `${path}.before`);
  renameSync(`${path}.new`, path);
}
