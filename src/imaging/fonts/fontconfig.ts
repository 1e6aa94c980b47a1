import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The fontconfig file of the service. It adds the service's fonts to those of the machine. */
const SERVICE_FONTS_CONF_PATH = fileURLToPath(new URL('fonts.conf', import.meta.url));

/**
 * Sets FONTCONFIG_FILE to the fontconfig file of the service, unless the operator has set it. The threads, processes
 * and browsers that this process starts read it.
 * @returns the path of the file that is used.
 */
export function configureFontconfig(): string {
  process.env.FONTCONFIG_FILE ??= SERVICE_FONTS_CONF_PATH;
  return process.env.FONTCONFIG_FILE;
}

const MAX_INCLUSION_DEPTH = 8;
const DIR_OR_INCLUDE = /<(dir|include)\b([^>]*)>([^<]*)<\/\1>/g;

/**
 * The font directories that a configuration names, including those of included files. They are read from the files,
 * because a minimal machine has no program that lists them. The attribute `salt` and the element `reset-dirs` are
 * ignored.
 */
export function readFontDirectories(file: string, depth = 0): string[] {
  if (depth > MAX_INCLUSION_DEPTH) return [];
  const found = findConfigurationFiles(file).flatMap((path) => {
    const text = readFileSync(path, 'utf8').replace(/<!--[\s\S]*?-->/g, '');
    return [...text.matchAll(DIR_OR_INCLUDE)].flatMap(([, element, attributes = '', named = '']) => {
      const prefix = /\bprefix="(\w+)"/.exec(attributes)?.[1];
      if (element === 'dir')
        return [resolvePath(named.trim(), { prefix, configuration: path, xdg: XDG_DATA })];
      return readFontDirectories(
        resolvePath(named.trim(), { prefix, configuration: path, xdg: XDG_CONFIG }),
        depth + 1,
      );
    });
  });
  return [...new Set(found)];
}

const XDG_DATA = { variable: 'XDG_DATA_HOME', fallback: '.local/share' };
const XDG_CONFIG = { variable: 'XDG_CONFIG_HOME', fallback: '.config' };

interface PathContext {
  prefix: string | undefined;
  /** The configuration file that names the path; a relative path starts at its folder. */
  configuration: string;
  xdg: { variable: string; fallback: string };
}

function resolvePath(name: string, { prefix, configuration, xdg }: PathContext): string {
  if (prefix === 'xdg') return join(process.env[xdg.variable] ?? join(homedir(), xdg.fallback), name);
  if (prefix === 'relative') return resolve(dirname(configuration), name);
  return name.startsWith('~') ? join(homedir(), name.slice(1)) : name;
}

/**
 * The files of a configuration: the file itself, or the files of a directory. A name without a folder is searched where
 * fontconfig searches.
 */
function findConfigurationFiles(name: string): string[] {
  const places = [...(process.env.FONTCONFIG_PATH?.split(delimiter) ?? []), '/etc/fonts'];
  const paths = isAbsolute(name) ? [name] : places.map((place) => join(place, name));
  const path = paths.find(isReadable);
  if (path === undefined) return [];
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((entry) => /^\d.*\.conf$/.test(entry));
  return names.map((entry) => join(path, entry)).filter(isReadable);
}

/** Whether this user may read a file or a directory. Fontconfig passes over all others, such as those of root. */
function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
