import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { StaticFiles } from '../../platform/http/static/files.ts';

/** The module that starts the console. It imports all others. */
export const ENTRY_MODULE = 'console.ts';
export const ICON_FILE = 'favicon.svg';
/** The style sheet, which has those of all screens within it. */
export const STYLE_SHEET = 'sheets.css';

const SCREENS = new URL('./browser/screens/', import.meta.url);
const SCREEN_MODULES = readdirSync(SCREENS)
  .filter((name) => name.endsWith('.ts'))
  .sort();

const FILES = [
  new URL('../reference/browser/favicon.svg', import.meta.url),
  new URL('./browser/sheets.css', import.meta.url),
  new URL('./browser/console.ts', import.meta.url),
  ...SCREEN_MODULES.map((name) => new URL(name, SCREENS)),
];

/**
 * The module of the screen at an address, such as jobs.ts for /console/jobs/job_1. Undefined if no screen has the
 * address.
 */
export function screenModuleOf(path: string): string | undefined {
  const [, name] = /^\/console\/([a-z]+)/.exec(path) ?? [];
  return SCREEN_MODULES.find((module) => module === `${name}.ts`);
}

/**
 * The files that browsers load. Each is read when it is first requested.
 * @param prefix the path below which they are served.
 */
export function openConsoleFiles(prefix: string): StaticFiles {
  const { resolve } = createRequire(import.meta.url);
  const uplot = pathToFileURL(resolve('uplot/package.json'));
  return new StaticFiles(prefix, FILES, {
    preact: new URL(import.meta.resolve('preact')),
    'preact/hooks': new URL(import.meta.resolve('preact/hooks')),
    htm: new URL(import.meta.resolve('htm')),
    // Node would load this file of the package as CommonJS.
    uplot: new URL('dist/uPlot.esm.js', uplot),
  });
}
