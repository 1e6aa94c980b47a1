import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The fontconfig file of the service. It adds the service's fonts to those of the machine. */
const OWN_FILE = fileURLToPath(new URL('fonts.conf', import.meta.url));

/**
 * Makes the fonts of the service known to all that this process starts: threads, processes and browsers read
 * FONTCONFIG_FILE. If an operator has set it, their own file is kept.
 * @returns the path of the file that is used.
 */
export function configureFontconfig(): string {
  process.env.FONTCONFIG_FILE ??= OWN_FILE;
  return process.env.FONTCONFIG_FILE;
}

const MAX_INCLUSIONS = 8;
const ELEMENT = /<(dir|include)\b([^>]*)>([^<]*)<\/\1>/g;

/**
 * The font directories that a configuration names, including those of included files. They are read from the files,
 * because a bare machine has no program that lists them. Salts and resets are ignored.
 */
export function fontDirectories(file: string, depth = 0): string[] {
  if (depth > MAX_INCLUSIONS) return [];
  const found = configurationsAt(file).flatMap((path) => {
    const text = readFileSync(path, 'utf8').replace(/<!--[\s\S]*?-->/g, '');
    return [...text.matchAll(ELEMENT)].flatMap(([, element, attributes = '', named = '']) => {
      const prefix = /\bprefix="(\w+)"/.exec(attributes)?.[1];
      if (element === 'dir') return [located(named.trim(), { prefix, of: path, xdg: DATA })];
      return fontDirectories(located(named.trim(), { prefix, of: path, xdg: CONFIG }), depth + 1);
    });
  });
  return [...new Set(found)];
}

const DATA = { variable: 'XDG_DATA_HOME', fallback: '.local/share' };
const CONFIG = { variable: 'XDG_CONFIG_HOME', fallback: '.config' };

interface Naming {
  prefix: string | undefined;
  /** The file that names it. */
  of: string;
  xdg: { variable: string; fallback: string };
}

function located(name: string, { prefix, of, xdg }: Naming): string {
  if (prefix === 'xdg') return join(process.env[xdg.variable] ?? join(homedir(), xdg.fallback), name);
  if (prefix === 'relative') return resolve(dirname(of), name);
  return name.startsWith('~') ? join(homedir(), name.slice(1)) : name;
}

/**
 * The files of a configuration: the file itself, or the files of a directory. A bare name is searched where fontconfig
 * searches.
 */
function configurationsAt(name: string): string[] {
  const places = [...(process.env.FONTCONFIG_PATH?.split(delimiter) ?? []), '/etc/fonts'];
  const paths = isAbsolute(name) ? [name] : places.map((place) => join(place, name));
  const path = paths.find((candidate) => statSync(candidate, { throwIfNoEntry: false }) !== undefined);
  if (path === undefined) return [];
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((entry) => /^\d.*\.conf$/.test(entry));
  return names
    .map((entry) => join(path, entry))
    .filter((entry) => statSync(entry, { throwIfNoEntry: false }));
}
