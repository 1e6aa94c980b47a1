import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { parseEnv } from 'node:util';
import { nearestName } from '../src/platform/ids/nearest.ts';
import { SettingsError } from '../src/platform/setting.ts';

/** The default of ENV_FILE, in the folder in which the service is started. */
export const DEFAULT_ENV_FILE = 'darkroom.env';

/** The path of the settings file. It is taken from the environment alone, because the file cannot name itself. */
export function envFile(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.ENV_FILE || DEFAULT_ENV_FILE;
}

/** The content of a settings file. */
export interface EnvFile {
  settings: Readonly<Record<string, string | undefined>>;
  /** A sentence for each line that is probably a mistake. */
  warnings: readonly string[];
}

/**
 * Reads and checks a file of settings.
 * @param known the names of all settings.
 * @throws SettingsError with a sentence for each fault of the file, such as a misspelt name.
 */
export function readEnvFile(path: string, known: readonly string[]): EnvFile {
  let text: string;
  try {
    text = readEnvText(path);
  } catch (error) {
    throw new SettingsError([unreadable(path, error as NodeJS.ErrnoException)]);
  }
  // Half of the bytes of Latin letters in UTF-16 are zero.
  if (text.includes('\0')) throw new SettingsError([`${path} is not text in UTF-8: save it as UTF-8.`]);
  const lines = text.split('\n');
  const violations = violationsIn(lines, { known, path });
  if (violations.length > 0) throw new SettingsError(violations);
  return {
    settings: parseEnv(text),
    warnings: [...repeatedSettingsIn(lines, path), ...cutValuesIn(lines, path)],
  };
}

/** Programs of Windows write a byte order mark before the first name, which is not part of it. */
function readEnvText(path: string): string {
  return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
}

function unreadable(path: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return `There is no file ${path}.`;
  if (code === 'EISDIR') return `${path} is a folder: name the file of settings in it.`;
  return `${path} cannot be read: ${message}.`;
}

/** A name that resembles no setting is accepted, because other programs may read the file too. */
function violationsIn(
  lines: readonly string[],
  { known, path }: { known: readonly string[]; path: string },
): string[] {
  return lines.flatMap((line, index) => {
    const where = `${path}, line ${index + 1}`;
    const content = line.trim();
    if (content === '' || content.startsWith('#')) return [];
    const { name, value = '' } = parseLine(line) ?? {};
    if (name === undefined) return [`${where} is not a setting: write NAME=value, or begin the line with #.`];
    if (!hasClosedQuotes(value))
      return [
        `${where}: end the value of ${name} with the quotation mark that it begins with, on this line.`,
      ];
    const meant = known.includes(name) ? undefined : nearestName(name, known);
    return meant === undefined ? [] : [`${where}: there is no setting ${name}. Did you mean ${meant}?`];
  });
}

function repeatedSettingsIn(lines: readonly string[], path: string): string[] {
  const numbered = lines.map((line, index) => ({ name: settingNameIn(line), number: index + 1 }));
  return Array.from(Map.groupBy(numbered, ({ name }) => name)).flatMap(([name, given]) => {
    if (name === undefined || given.length === 1) return [];
    const numbers = given.map(({ number }) => number).join(' and ');
    return [`${path} sets ${name} in lines ${numbers}: the last one counts.`];
  });
}

/** A warning for each value that ends at a #, because the # may be a part of a password or an address. */
function cutValuesIn(lines: readonly string[], path: string): string[] {
  return lines.flatMap((line, index) => {
    const { name, value = '' } = parseLine(line) ?? {};
    if (/^["'`]/.test(value) || !/\S#/.test(value)) return [];
    return [
      `${path}, line ${index + 1}: the value of ${name} ends before its #, which begins a comment. Put the value in quotation marks if the # belongs to it.`,
    ];
  });
}

/**
 * Whether a value has no quotation mark, or a closed pair of them. If a quotation mark is not closed, the parser also
 * reads the next lines.
 */
function hasClosedQuotes(value: string): boolean {
  return !/^["'`]/.test(value) || /^(["'`]).*?\1\s*(?:#.*)?$/.test(value);
}

/** The name and the value, as it is written, that a line sets; undefined if it sets none. */
function parseLine(line: string): { name: string; value: string } | undefined {
  const [, name, value = ''] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)/.exec(line) ?? [];
  return name === undefined ? undefined : { name, value: value.trim() };
}

function settingNameIn(line: string): string | undefined {
  return parseLine(line)?.name;
}

/**
 * Writes settings into the file, which keeps its comments, its other lines, its mode and its owner. The file is
 * replaced atomically, so that a crash leaves the old one.
 * @param settings by name; null restores the default, by turning the lines of the setting into comments.
 * @param keepsBefore keeps a copy of the previous file with the suffix `.before`.
 * @throws Error of the file system where the folder cannot be written.
 */
export function saveSettings(
  settings: Readonly<Record<string, string | null>>,
  { path = envFile(), keepsBefore = false }: { path?: string; keepsBefore?: boolean } = {},
): void {
  const before = existsSync(path) ? readEnvText(path).replace(/\n$/, '').split('\n') : [];
  const lines = before.map((line) => (settings[settingNameIn(line) ?? ''] === null ? `# ${line}` : line));
  for (const [name, value] of Object.entries(settings)) {
    if (value === null) continue;
    const line = `${name}=${value}`;
    const at = lines.findLastIndex((text) => settingNameIn(text) === name);
    if (at === -1) lines.push(line);
    else lines[at] = line;
  }
  const replaced = statSync(path, { throwIfNoEntry: false });
  writeFileSync(`${path}.new`, `${lines.join('\n')}\n`, { mode: replaced?.mode });
  if (replaced !== undefined) {
    chmodSync(`${path}.new`, replaced.mode);
    if (process.getuid?.() === 0) chownSync(`${path}.new`, replaced.uid, replaced.gid);
    if (keepsBefore) copyFileSync(path, `${path}.before`);
  }
  renameSync(`${path}.new`, path);
}
