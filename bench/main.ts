import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { runCapacity } from './capacity/command.ts';
import { runAgainst, runCompare } from './compare/commands.ts';
import { runLoadSuite } from './load-suite-command.ts';
import { type BenchOptions, readBenchOptions } from './options.ts';
import { runPeers } from './peers/command.ts';
import { checkOptions, LOAD_SUITES, mainHelp, readHelp, runMeasuredSuite } from './registry.ts';
import { makeWritableFolder, RESULTS_FOLDER } from './results.ts';
import { stopOnSignals, unlessStopped } from './stopping.ts';

/**
 * `npm run bench -- <suite …>` runs suites by name; `npm run bench -- compare A.json B.json` compares two results.
 * `--help` lists all commands, and after a command its options. Each result is written to bench/results/ as JSON and as
 * an HTML page.
 */
const REPLAY_SUITE = new URL('./suites/replay.ts', import.meta.url).pathname;
const stopping = stopOnSignals();
try {
  const argv = process.argv.slice(2);
  if (argv[0] === 'peers' && !argv.some((arg) => arg === '--help' || arg === '-h'))
    await unlessStopped(runPeers(argv.slice(1)), stopping.signal);
  else await main(readBenchOptions(argv));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
process.exit(stopping.exitCode() || process.exitCode);

async function main(options: BenchOptions): Promise<void> {
  const [first] = options.names;
  const command = first ?? (options.suiteFile === '' ? undefined : '--suite');
  if (command === undefined) return console.log(mainHelp());
  if (options.help) return console.log(await readHelp(command));
  checkOptions(first === undefined ? [command] : options.names, options.given);
  makeWritableFolder(options.out || RESULTS_FOLDER, '--out');
  if (options.baseline !== '') makeWritableFolder(dirname(resolve(options.baseline)), '--baseline');
  if (first === 'compare') return runCompare(options);
  if (first === 'capacity') return runCapacity(options, stopping);
  if (first === 'replay') return runReplay(options);
  if (options.suiteFile !== '') return runLoad(options.suiteFile, options);
  for (const name of options.names) if (!stopping.signal.aborted) await runNamed(name, options);
}

async function runNamed(name: string, options: BenchOptions): Promise<void> {
  const loadFile = LOAD_SUITES[name];
  if (loadFile !== undefined) return runLoad(loadFile, options);
  return unlessStopped(runMeasuredSuite(name, options), stopping.signal);
}

/** `replay FILE`: the calls of a log at their own times, as a suite under load. */
function runReplay(options: BenchOptions): Promise<void> {
  const [, log] = options.names;
  if (log === undefined) throw new Error('replay needs a log: npm run bench -- replay access.log');
  if (statSync(log, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${log} is a folder: name a log in it.`);
  process.env.BENCH_REPLAY_LOG = resolve(log);
  process.env.BENCH_REPLAY_SPEED = String(options.speed);
  return runLoad(REPLAY_SUITE, options);
}

function runLoad(file: string, options: BenchOptions): Promise<void> {
  return options.against === '' ? runLoadSuite(file, options, stopping) : runAgainst(file, options, stopping);
}
