import { resolve } from 'node:path';
import { runCapacity } from './capacity/command.ts';
import { runAgainst, runCompare } from './compare/commands.ts';
import { runLoadSuite } from './load-suite-command.ts';
import { type BenchOptions, readBenchOptions } from './options.ts';
import { runPeers } from './peers/command.ts';
import { LOAD_SUITES, MEASURED_SUITES, runMeasuredSuite } from './registry.ts';
import { stopOnSignals, unlessStopped } from './stopping.ts';

/**
 * `npm run bench -- <suite …>` runs suites by name; `npm run bench -- compare A.json B.json` compares two results.
 * `--help` lists all commands. Each result is written to bench/results/ as JSON and as an HTML page.
 */
const REPLAY_SUITE = new URL('./suites/replay.ts', import.meta.url).pathname;
const stopping = stopOnSignals();
try {
  const argv = process.argv.slice(2);
  if (argv[0] === 'peers') await unlessStopped(runPeers(argv.slice(1)), stopping.signal);
  else await main(readBenchOptions(argv));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
process.exit(stopping.exitCode() || process.exitCode);

async function main(options: BenchOptions): Promise<void> {
  const [first] = options.names;
  if (options.help || (first === undefined && options.suiteFile === '')) return console.log(help());
  if (first === 'compare') return runCompare(options);
  if (first === 'capacity') return runCapacity(options, stopping);
  if (first === 'replay') return runReplay(options);
  if (options.suiteFile !== '') return runLoad(options.suiteFile, options);
  for (const name of options.names) if (!stopping.signal.aborted) await runNamed(name, options);
}

async function runNamed(name: string, options: BenchOptions): Promise<void> {
  const loadFile = LOAD_SUITES[name];
  if (loadFile !== undefined) return runLoad(loadFile, options);
  if (MEASURED_SUITES[name] !== undefined)
    return unlessStopped(runMeasuredSuite(name, options), stopping.signal);
  throw new Error(
    `There is no suite ${name}: ${[...Object.keys(LOAD_SUITES), ...Object.keys(MEASURED_SUITES)].join(', ')}.`,
  );
}

/** `replay FILE`: the calls of a log at their own times, as a suite under load. */
function runReplay(options: BenchOptions): Promise<void> {
  const [, log] = options.names;
  if (log === undefined) throw new Error('replay needs a log: npm run bench -- replay access.log');
  process.env.BENCH_REPLAY_LOG = resolve(log);
  process.env.BENCH_REPLAY_SPEED = String(options.speed);
  return runLoad(REPLAY_SUITE, options);
}

function runLoad(file: string, options: BenchOptions): Promise<void> {
  return options.against === '' ? runLoadSuite(file, options, stopping) : runAgainst(file, options, stopping);
}

function help(): string {
  return [
    'npm run bench -- <suite …> [--url URL --key KEY | --keys FILE [--yes]] [--images DIR] [--thresholds] [--out DIR]',
    '                           [--seconds N] [--rate CALLS/S] [--connections N]',
    '                           [--formats csv,junit,markdown,prometheus] [--baseline FILE [--fail-over 5%]]',
    'npm run bench -- --suite FILE.ts …      a suite of your own: a module whose default export is a LoadSuite (bench/load/suite.ts)',
    'npm run bench -- compare A.json B.json [--fail-over 5%]',
    'npm run bench -- <suite> --against <git ref or url> [--rounds 8] [--fail-over 5%]',
    "npm run bench -- peers [--imgproxy URL] [--imagor URL] [--thumbor URL] [--ipx URL] [--pattern 'http://…/{width}/{format}/{source}']",
    '                       [--pid PORT=PID] [--images DIR] [--cases TEXT] [--out DIR]',
    '',
    `Load an instance: ${Object.keys(LOAD_SUITES).join(', ')}`,
    `Compare with a baseline in the same run: ${Object.keys(MEASURED_SUITES).join(', ')}`,
    '',
    'Without --url the bench starts the service itself, with embedded stores. Results lie in bench/results/.',
    'DARKROOM_KEY is the key where --key is not given. --seconds, --rate and --connections change every stage but the warm-up.',
  ].join('\n');
}
