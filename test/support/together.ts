import { flushCompileCache, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Test } from 'tap';
import { cpuSeconds } from './cpu-time.ts';
import { fileTests } from './file-tests.ts';

/** Only a file that hangs takes so long: on a busy machine, the longest takes half of it. */
const FILE_TIMEOUT_MS = 1_500_000;
/** How long something that a test left open may keep the process alive: it is no reason for the run to wait. */
const LEFT_OPEN_MS = 10_000;

/**
 * Runs the test files of TEST_FILES, separated by commas, in this process, one after another: what they share, from tap
 * to the service with its routes, is loaded and compiled once. Each file is a test of its own, which is what it gets
 * where it imports `tap`, so that its servers end with it. What helpers begin in `tap` ends with the process.
 */
const OWN_TEST = new URL('./own-test.ts', import.meta.url);
const NO_DOMAINS = new URL('./no-domains.ts', import.meta.url);

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === 'async-hook-domain')
      return { url: NO_DOMAINS.href, format: 'module-typescript', shortCircuit: true };
    if (specifier !== 'tap' || !context.parentURL?.endsWith('.test.ts'))
      return nextResolve(specifier, context);
    return { url: `${OWN_TEST}?${context.parentURL}`, format: 'module-typescript', shortCircuit: true };
  },
});

const { default: root } = await import('tap');

const stores = process.env.TEST_STORES === 'cluster' ? ' on Redis and MongoDB' : '';
const files = process.env.TEST_FILES?.split(',') ?? [];
let countedSeconds = 0;
let current: Test | undefined;
// An error that nobody caught fails the file that runs.
process.on('uncaughtException', (error) => (current ?? root).threw(error));
const ended = files.map(async (file) => {
  const { href } = pathToFileURL(join(import.meta.dirname, '../..', file));
  await root.test(file + stores, { timeout: FILE_TIMEOUT_MS }, async (t) => {
    fileTests.set(href, t);
    current = t;
    await import(href);
    // For the processes that begin before this one has ended.
    flushCompileCache();
  });
  const seconds = cpuSeconds();
  root.comment(`cpu: ${(seconds - countedSeconds).toFixed(1)} s, ${file}${stores}`);
  countedSeconds = seconds;
});
root.on('complete', () => setTimeout(() => process.exit(), LEFT_OPEN_MS).unref());
void Promise.all(ended).then(() => root.end());
