import { cpus } from 'node:os';
import { join } from 'node:path';
import type { BenchOptions } from './options.ts';
import { plottedPage } from './report/plotted-page.ts';
import { writeResult } from './results.ts';
import type { Suite } from './suite.ts';

/** Suites that load an instance, by name: each file exports one value. */
export const LOAD_SUITES: Record<string, string> = Object.fromEntries(
  ['smoke', 'mix', 'spike', 'overload', 'soak', 'jobs-load'].map((name) => [
    name,
    join(import.meta.dirname, 'suites', `${name}.ts`),
  ]),
);

/** Suites that compare a part of the service with a baseline in the same run. */
export const BASELINE_SUITES: Record<string, () => Promise<Suite>> = {
  transform: () => import('./transform.ts'),
  encoders: () => import('./encoders.ts'),
  efforts: () => import('./efforts.ts'),
  stores: () => import('./stores.ts'),
  render: () => import('./render.ts'),
  presets: () => import('./presets.ts'),
  memory: () => import('./memory.ts'),
  hostile: () => import('./hostile.ts'),
  manners: () => import('./small-calls/manners.ts'),
  delivery: () => import('./delivery/delivery.ts'),
  tracing: () => import('./small-calls/tracing.ts'),
  webhooks: () => import('./webhooks.ts'),
  jobs: () => import('./jobs.ts'),
  beside: () => import('./beside.ts'),
  replacement: () => import('./replacement.ts'),
  console: () => import('./console.ts'),
};

/**
 * Runs a suite. The exit code is 1 when the suite missed one of its aims. @throws Error for options that only a suite
 * under load has.
 */
export async function runMeasuredSuite(
  name: string,
  { command, url, against, out, formats }: BenchOptions,
): Promise<void> {
  if (url !== '' || against !== '')
    throw new Error(`${name} compares with a baseline on this machine: leave --url and --against out.`);
  const suite = await BASELINE_SUITES[name]?.();
  if (suite === undefined) throw new Error(`${name} is not a suite that compares with a baseline.`);
  const result = {
    suite: name,
    at: new Date().toISOString(),
    command,
    cores: cpus().length,
    node: process.version,
    ...(await suite.run()),
  };
  const { rows, missed = [] } = result;
  await writeResult(name, {
    result,
    html: plottedPage({ title: `${name} ${result.at}`, report: result, script: 'table.js' }),
    folder: out,
    formats,
    flat: { suite: name, at: result.at, rows, checks: missed.map((failure) => ({ name: failure, failure })) },
  });
  for (const sentence of result.missed ?? []) console.error(`Missed: ${sentence}`);
  if (result.missed?.length) process.exitCode = 1;
}
