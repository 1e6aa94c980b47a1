import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { StaticFiles } from '../../platform/http/static/files.ts';

/** The module that starts the console. It imports all other modules. */
export const ENTRY_MODULE = 'console.ts';
/**
 * The module that requests who is signed in. It imports no other module, so its request is sent while the others are
 * loaded.
 */
const FIRST_MODULE = 'first-call.ts';
const ICON_FILE = 'favicon.svg';
/** The style sheet that imports the style sheets of all screens. */
export const STYLE_SHEET = 'sheets.css';

const SCREENS_FOLDER = new URL('./browser/screens/', import.meta.url);
const SCREEN_MODULES = readdirSync(SCREENS_FOLDER)
  .filter((name) => name.endsWith('.ts'))
  .sort();

const CONSOLE_FILES = [
  new URL('../reference/browser/favicon.svg', import.meta.url),
  new URL('./browser/sheets.css', import.meta.url),
  new URL('./browser/first-call.ts', import.meta.url),
  new URL('./browser/console.ts', import.meta.url),
  ...SCREEN_MODULES.map((name) => new URL(name, SCREENS_FOLDER)),
];

/** The file of the screen at an address: jobs.ts for /console/jobs/job_1. Undefined if no screen has the address. */
export function screenModuleOf(path: string): string | undefined {
  const [, name] = /^\/console\/([a-z]+)/.exec(path) ?? [];
  return SCREEN_MODULES.find((module) => module === `${name}.ts`);
}

/**
 * The files that browsers load. Each is read from the disk when it is first requested.
 * @param prefix the path below which they are served.
 */
export function openConsoleFiles(prefix: string): StaticFiles {
  const { resolve } = createRequire(import.meta.url);
  const uplot = pathToFileURL(resolve('uplot/package.json'));
  return new StaticFiles(prefix, CONSOLE_FILES, {
    preact: new URL(import.meta.resolve('preact')),
    'preact/hooks': new URL(import.meta.resolve('preact/hooks')),
    htm: new URL(import.meta.resolve('htm')),
    // The package's main entry is a CommonJS build, which browsers cannot load.
    uplot: new URL('dist/uPlot.esm.js', uplot),
  });
}

/**
 * The HTML document of the console. It names the scripts and style sheets; the entry module draws the screen.
 * @param screen the module of the screen at the address; undefined if no screen has the address.
 */
export function consoleDocument(files: StaticFiles, screen: string | undefined): string {
  const modules = [ENTRY_MODULE, ...(screen === undefined ? [] : [screen])];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Darkroom console</title>
<link rel="icon" type="image/svg+xml" href="${files.addressFor(ICON_FILE)}">
<link rel="stylesheet" href="${files.addressFor(STYLE_SHEET)}">
<script type="module" async src="${files.addressFor(FIRST_MODULE)}"></script>
${files.modulePreloads(...modules)}
<script type="module" src="${files.addressFor(ENTRY_MODULE)}"></script>
</head>
<body class="console">
<noscript>The console needs scripts. The documentation at <a href="/docs/">/docs</a> works without them.</noscript>
</body>
</html>
`;
}
