import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { nearest } from '../src/platform/names/nearest.ts';

/**
 * Settings of this host beside its environment: of ENV_FILE, by default in the folder that the service is started in.
 */
export const DEFAULT_ENV_FILE = 'darkroom.env';

/** Where the file of settings lies. The environment alone says so: the file cannot name itself. */
export function envFile(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.ENV_FILE || DEFAULT_ENV_FILE;
}

/**
 * Reads the file into the environment where it exists. The environment wins.
 * @param known the names of all settings.
 * @returns a sentence for each line that is no setting, or whose name is nearly that of one; nothing is read then.
 */
export function loadEnvFile(known: readonly string[], path = envFile()): string[] {
  if (!existsSync(path)) return [];
  const violations = violationsIn(readFileSync(path, 'utf8'), { known, path });
  if (violations.length === 0) process.loadEnvFile(path);
  return violations;
}

/** Other programs may read the file too: a name that is near to none of the settings is left to them. */
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
 * Writes settings into the file, which keeps its comments and its other lines. The file is replaced whole, so that a
 * crash leaves the old one.
 * @param settings by name; null: the default, and its lines become comments.
 * @param keepsBefore leaves a copy of the file as it was, under its name and `.before`.
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
