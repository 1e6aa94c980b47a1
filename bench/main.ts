import { resolve } from 'node:path';
import { runCapacity } from './capacity/command.ts';
import { runAgainst, runCompare } from './compare/commands.ts';
import { runLoadSuite } from './load-suite-command.ts';
import { runPeers } from './peers/command.ts';
import { LOAD_SUITES, MEASURED_SUITES, runMeasuredSuite } from './registry.ts';
import { hearSignals, unlessStopped } from './stopping.ts';
import { readWords, type Words } from './words.ts';

/**
 * `npm run bench -- <suite …>` runs suites by name; `npm run bench -- compare A.json B.json` compares two results.
 * `--help` lists all commands. Each result is written to bench/results/ as JSON and as an HTML page.
 */
const REPLAY_SUITE = new URL('./suites/replay.ts', import.meta.url).pathname;
const stopping = hearSignals();
try {
  const argv = process.argv.slice(2);
  if (argv[0] === 'peers') await unlessStopped(runPeers(argv.slice(1)), stopping.signal);
  else await main(readWords(argv));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
process.exit(stopping.exitCode() || process.exitCode);

async function main(words: Words): Promise<void> {
  const [first] = words.names;
  if (words.help || (first === undefined && words.suiteFile === '')) return console.log(help());
  if (first === 'compare') return runCompare(words);
  if (first === 'capacity') return runCapacity(words, stopping);
  if (first === 'replay') return runReplay(words);
  if (words.suiteFile !== '') return runLoad(words.suiteFile, words);
  for (const name of words.names) if (!stopping.signal.aborted) await runNamed(name, words);
}

async function runNamed(name: string, words: Words): Promise<void> {
  const loadFile = LOAD_SUITES[name];
  if (loadFile !== undefined) return runLoad(loadFile, words);
  if (MEASURED_SUITES[name] !== undefined)
    return unlessStopped(runMeasuredSuite(name, words), stopping.signal);
  throw new Error(
    `There is no suite ${name}: ${[...Object.keys(LOAD_SUITES), ...Object.keys(MEASURED_SUITES)].join(', ')}.`,
  );
}

/** `replay FILE`: the calls of a log at their own times, as a suite under load. */
function runReplay(words: Words): Promise<void> {
  const [, log] = words.names;
  if (log === undefined) throw new Error('replay needs a log: npm run bench -- replay access.log');
  process.env.BENCH_REPLAY_LOG = resolve(log);
  process.env.BENCH_REPLAY_SPEED = String(words.speed);
  return runLoad(REPLAY_SUITE, words);
}

function runLoad(file: string, words: Words): Promise<void> {
  return words.against === '' ? runLoadSuite(file, words, stopping) : runAgainst(file, words, stopping);
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
    `Measure beside a baseline in the same run: ${Object.keys(MEASURED_SUITES).join(', ')}`,
    '',
    'Without --url the bench starts the service itself, with embedded stores. Results lie in bench/results/.',
    'DARKROOM_KEY is the key where --key is not given. --seconds, --rate and --connections change every stage but the warm-up.',
  ].join('\n');
}
