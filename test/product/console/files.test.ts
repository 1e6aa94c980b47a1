// needs: nothing
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import t from 'tap';
import {
  consoleDocument,
  ENTRY_MODULE,
  openConsoleFiles,
  STYLE_SHEET,
  screenModuleOf,
} from '../../../src/product/console/files.ts';

const MAX_FIRST_SCREEN_BYTES = 60_000;
const MAX_FIRST_SCREEN_FILES = 30;
const PREFIX = '/console/static/';
const files = openConsoleFiles('/console/static');
const shell = consoleDocument(files, screenModuleOf('/console/playground'));

function textAt(address: string): string {
  const body = files.find(address.replace(PREFIX, ''))?.body;
  if (body === undefined) throw new Error(`${address} is not served`);
  return String(body);
}

/** The modules that a module leads to, also those that are loaded later. */
function everyModule(): Map<string, string> {
  const found = new Map<string, string>();
  const add = (address: string) => {
    if (found.has(address)) return;
    const text = textAt(address);
    found.set(address, text);
    for (const [, imported = ''] of text.matchAll(/['"](\/console\/static\/[^'"]+\.js)['"]/g)) add(imported);
  };
  add(files.addressFor(ENTRY_MODULE));
  return found;
}

t.test('the first screen is at most 60 kB compressed, in at most thirty files', async (t) => {
  const loaded = new Set(['console.ts', 'playground.ts'].flatMap((name) => files.addressesFor(name)));
  const texts = [shell, ...[...loaded, files.addressFor(STYLE_SHEET)].map(textAt)];
  // As the service sends files that browsers keep.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const bytes = texts.reduce((sum, text) => sum + brotliCompressSync(text, { params }).length, 0);
  t.comment(`${bytes} bytes in ${texts.length} files`);
  t.ok(bytes <= MAX_FIRST_SCREEN_BYTES, `${bytes} bytes`);
  t.ok(texts.length <= MAX_FIRST_SCREEN_FILES, `${texts.length} files`);
});

t.test(
  'every module is served, asks for no package by its name, and makes no HTML or script of a text',
  async (t) => {
    const modules = everyModule();
    t.ok(modules.size > 15);
    for (const [address, text] of modules) {
      t.notMatch(text, /^(?:import|export|\}).*?from ['"](?!\/console\/static\/)/m, address);
      if (!/\/(?:preact|uPlot)\./.test(address))
        t.notMatch(
          text,
          /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|\beval\(|new Function/,
          address,
        );
    }
  },
);

t.test(
  'the document names each module that is loaded at once, those of the screen of its address too',
  async (t) => {
    for (const [path, own] of [
      ['/console/playground?steps=[]', ['playground.ts']],
      ['/console/jobs/job_1', ['jobs.ts']],
      ['/console', []],
      ['/console/sign-in', []],
      ['/console/nothing', []],
    ] as const) {
      const shell = consoleDocument(files, screenModuleOf(path));
      const named = [...shell.matchAll(/modulepreload" href="([^"]+)"/g)].map(([, address]) => address);
      const loaded = [ENTRY_MODULE, ...own].flatMap((name) => files.addressesFor(name));
      t.same(new Set(named), new Set(loaded), path);
      t.equal(named.length, new Set(named).size, 'each once');
      t.notMatch(shell, /uPlot\.[0-9a-f]+\.js/, 'plots are loaded when one is drawn');
    }
  },
);

const BROWSER = join(import.meta.dirname, '../../../src/product/console/browser');
const sourceOf = (path: string) => readFileSync(join(BROWSER, path), 'utf8');

/** The selectors of a style sheet, each with the classes that it names. */
function selectorsOf(sheet: string): { selector: string; classes: string[] }[] {
  const heads = sheet.replaceAll(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{};]+)\{/g);
  return [...heads]
    .flatMap(([, head = '']) => head.split(/,(?![^(]*\))/))
    .map((selector) => selector.trim())
    .filter((selector) => !/^(@|\d+%|from$|to$|.*:\s*\d+px\)$)/.test(selector))
    .map((selector) => ({
      selector,
      classes: [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name),
    }));
}

const common = new Set(
  ['console.css', 'parts.css', '../../../platform/http/static/browser/base.css']
    .flatMap((name) => selectorsOf(sourceOf(name)))
    .flatMap(({ classes }) => classes),
);
const ofScreens = globSync('*.css', { cwd: BROWSER }).filter(
  (name) => !/^(console|parts|sheets)\.css$/.test(name),
);
const classesIn = (name: string) => selectorsOf(sourceOf(name)).flatMap(({ classes }) => classes);
/** The classes that one sheet has alone. */
const owned = new Map(
  ofScreens.map((name) => {
    const others = new Set(ofScreens.filter((one) => one !== name).flatMap(classesIn));
    return [name, new Set(classesIn(name).filter((one) => !common.has(one) && !others.has(one)))];
  }),
);

t.test('no rule of the sheet of one screen reaches another screen', async (t) => {
  // All sheets are in the page.
  for (const name of ofScreens) {
    const shared = selectorsOf(sourceOf(name)).filter(
      ({ classes }) => !classes.some((one) => owned.get(name)?.has(one)),
    );
    t.same(
      shared.map(({ selector }) => selector),
      [],
      `${name}: each selector names a class of its own`,
    );
  }
});

t.test('the page has the rules of every sheet', async (t) => {
  const whole = textAt(files.addressFor(STYLE_SHEET));
  for (const name of globSync('*.css', { cwd: BROWSER }).filter((name) => name !== 'sheets.css'))
    t.ok(whole.includes(sourceOf(name)), name);
});
