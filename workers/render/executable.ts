import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** No browser was found; the message says how to install one. */
export class NoBrowserError extends Error {
  override readonly name = 'NoBrowserError';
}

const SYSTEM_BROWSER_NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
];
const UNPACK_PROGRAM = fileURLToPath(new URL('unpack.ts', import.meta.url));
const UNPACK_TIMEOUT_MS = 60_000;
const INSTALL_ADVICE =
  'Install a Chromium: `npx playwright install --with-deps --only-shell chromium`, or the package chromium-headless-shell of ' +
  'your distribution, or name one in BROWSER_PATH.';

/**
 * Finds the program of a browser: the one that the operator named, Playwright's own install, the system's, or the one
 * bundled in @sparticuz/chromium (unpacked once into `cacheDir`, 250 MB).
 *
 * @param browserPath the operator's choice; empty for none
 * @throws NoBrowserError
 */
export async function findBrowser(browserPath: string, cacheDir: string): Promise<string> {
  if (browserPath !== '') {
    if (isExecutable(browserPath)) return browserPath;
    throw new NoBrowserError(
      `BROWSER_PATH is "${browserPath}", but there is no program there that may be run.`,
    );
  }
  const installed = findPlaywrightBrowser() ?? findSystemBrowser();
  if (installed !== undefined) return installed;
  try {
    return await unpackBundledBrowser(cacheDir);
  } catch (error) {
    const message = `No browser was found, and the bundled one could not be unpacked. ${INSTALL_ADVICE}`;
    throw new NoBrowserError(message, { cause: error });
  }
}

/** The newest browser under Playwright's directory, its headless shell before its full Chromium. */
function findPlaywrightBrowser(): string | undefined {
  const root = process.env.PLAYWRIGHT_BROWSERS_PATH ?? join(homedir(), '.cache', 'ms-playwright');
  if (!existsSync(root)) return undefined;
  const newestFirst = (prefix: string) =>
    readdirSync(root)
      .filter((name) => name.startsWith(prefix))
      .sort((a, b) => Number(b.slice(prefix.length)) - Number(a.slice(prefix.length)));
  const candidates = [
    ...newestFirst('chromium_headless_shell-').flatMap((name) => [
      join(root, name, 'chrome-headless-shell-linux64', 'chrome-headless-shell'),
      join(root, name, 'chrome-linux', 'headless_shell'),
    ]),
    ...newestFirst('chromium-').flatMap((name) => [
      join(root, name, 'chrome-linux64', 'chrome'),
      join(root, name, 'chrome-linux', 'chrome'),
    ]),
  ];
  return candidates.find(isExecutable);
}

function findSystemBrowser(): string | undefined {
  const directories = (process.env.PATH ?? '').split(delimiter);
  return SYSTEM_BROWSER_NAMES.flatMap((name) => directories.map((directory) => join(directory, name))).find(
    isExecutable,
  );
}

/**
 * Unpacks into a new directory and renames it into place. Two processes that start at once, or one that dies half way,
 * therefore leave a whole browser or none.
 */
async function unpackBundledBrowser(cacheDir: string): Promise<string> {
  const browserFolder = join(cacheDir, `chromium-${readBundledBrowserVersion()}`);
  const path = join(browserFolder, 'chromium');
  if (!existsSync(path)) {
    await mkdir(cacheDir, { recursive: true });
    const unpackingFolder = await mkdtemp(join(cacheDir, 'unpacking-'));
    try {
      const options = { env: { ...process.env, TMPDIR: unpackingFolder }, timeout: UNPACK_TIMEOUT_MS };
      await promisify(execFile)(process.execPath, [UNPACK_PROGRAM], options);
      await rename(unpackingFolder, browserFolder);
    } catch (error) {
      await rm(unpackingFolder, { recursive: true, force: true });
      if (!existsSync(path)) throw error;
    }
  }
  return path;
}

function readBundledBrowserVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const manifest = createRequire(entry)(join(dirname(entry), '..', 'package.json')) as { version: string };
  return manifest.version;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
