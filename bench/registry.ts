import { cpus } from 'node:os';
import { join } from 'node:path';
import { didYouMeanHint } from '../src/platform/ids/nearest.ts';
import { importSuite } from './load/checked-suite.ts';
import type { BenchOptions } from './options.ts';
import { plottedPage } from './report/pages.ts';
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

/** Runs a suite. The exit code is 1 when the suite missed one of its aims. */
export async function runMeasuredSuite(name: string, { command, out, formats }: BenchOptions): Promise<void> {
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

/** The options by their names on the command line, with their value and what they do. */
const COMMAND_OPTIONS = {
  url: ['URL', 'the instance; without it the bench starts the service itself, with embedded stores'],
  key: ['KEY', 'API key of the account that loads it; DARKROOM_KEY by default'],
  keys: ['FILE', 'keys of several accounts, one on each line; calls use them in turn'],
  yes: ['', 'load an instance on another machine without asking'],
  images: ['DIR', 'pictures to send; without it the built-in ones'],
  seconds: ['N', 'length of every stage but the warm-up'],
  rate: ['N', 'calls per second of open stages, of all their cases together'],
  connections: ['N', 'connections of each case of closed stages'],
  thresholds: ['', 'exit with code 1 if a threshold of the suite is broken'],
  against: ['REF|URL', 'compare with a commit, a branch or an instance, in interleaved rounds'],
  rounds: ['N', 'rounds of a comparison; 8 by default'],
  'fail-over': ['5%', 'exit with code 1 if the second side is slower by more than this'],
  baseline: [
    'FILE',
    'compare with the report in this file; if the file does not exist, save this report there',
  ],
  suite: [
    'FILE.ts',
    'a suite of your own: a module whose default export is a LoadSuite (bench/load/suite.ts)',
  ],
  slo: ['TEXT', "the objective, such as 'p99<200ms,errors<0.1%'; 'p99<1s,errors<0.1%' by default"],
  speed: ['N', 'send the calls of the log in the Nth part of their time'],
  formats: ['LIST', 'files beside the JSON and the page: csv, junit, markdown, prometheus, joined by commas'],
  out: ['DIR', 'folder of the results; bench/results by default'],
} as const;
type Option = keyof typeof COMMAND_OPTIONS;

interface BenchCommand {
  usage: string;
  about: string;
  options: readonly Option[];
}

const RESULT_OPTIONS: readonly Option[] = ['formats', 'out'];
const INSTANCE_OPTIONS: readonly Option[] = ['url', 'key', 'keys', 'yes', 'images'];
const COMPARISON_OPTIONS: readonly Option[] = ['against', 'rounds', 'fail-over'];
const LOAD_OPTIONS: readonly Option[] = [
  ...INSTANCE_OPTIONS,
  ...(['seconds', 'rate', 'connections', 'thresholds', 'baseline'] as const),
  ...COMPARISON_OPTIONS,
  ...RESULT_OPTIONS,
];

const COMMANDS: Record<string, BenchCommand> = {
  '--suite': {
    usage: '--suite FILE.ts …',
    about: 'Loads an instance with a suite of your own. LOADING.md says how one is written.',
    options: ['suite', ...LOAD_OPTIONS],
  },
  capacity: {
    usage: "capacity [case …] [--slo 'p99<200ms,errors<0.1%'] …",
    about:
      'Searches for the most right answers per second of each kind of call alone that meets the objective, without a queue that grows.',
    options: ['slo', 'suite', ...INSTANCE_OPTIONS, 'seconds', 'connections', ...RESULT_OPTIONS],
  },
  replay: {
    usage: 'replay FILE [--speed N] …',
    about:
      "Sends the transforms of a log when they arrived: of this service's access log, or of any log with times and addresses of imgproxy or thumbor. IMGPROXY_PRESETS defines its presets.",
    options: ['speed', ...LOAD_OPTIONS],
  },
  compare: {
    usage: 'compare A.json B.json …',
    about:
      'Compares two results of one suite. Runs that were not interleaved also differ by how busy the machine was.',
    options: ['fail-over', ...RESULT_OPTIONS],
  },
};

const PEERS_USAGE = `npm run bench -- peers [--imgproxy URL] [--imagor URL] [--thumbor URL] [--ipx URL]
                       [--pattern 'http://…/{width}/{format}/{source}'] [--pid PORT=PID]
                       [--images DIR] [--cases TEXT] [--out DIR]

Compares Darkroom with servers that you have running: at least one of them is needed. PEERS.md says how.

  --cases TEXT     only the cases with this text in their names
  --pid PORT=PID   root of the process tree of the server on this port, whose CPU time is measured`;

const NAMES = [
  ...Object.keys(COMMANDS).filter((name) => !name.startsWith('-')),
  ...['peers', ...Object.keys(LOAD_SUITES), ...Object.keys(BASELINE_SUITES)],
];

/** All commands and suites. */
export function mainHelp(): string {
  const commands = Object.values(COMMANDS).flatMap(({ usage, about }) => [`  ${usage}`, `      ${about}`]);
  return [
    'npm run bench -- <suite …> or one of the commands below. Add --help to any of them for its options.',
    '',
    `Load an instance: ${Object.keys(LOAD_SUITES).join(', ')}`,
    `Compare a part of the service with a baseline: ${Object.keys(BASELINE_SUITES).join(', ')}`,
    '',
    'Commands:',
    ...commands,
    '  <suite> --against <ref or URL> …',
    '      Compares this tree, or the instance at --url, with another one, in interleaved rounds.',
    '  peers --imgproxy URL …',
    '      Compares Darkroom with other servers that you have running.',
    '',
    'Options of the commands:',
    ...optionLines(Object.keys(COMMAND_OPTIONS) as Option[]),
    '',
    'Results lie in bench/results/ as JSON and as a page. npm run tune searches for the settings of this host.',
  ].join('\n');
}

/** The help of one command or suite. @throws Error for an unknown name. */
export async function readHelp(name: string): Promise<string> {
  if (name === 'peers') return PEERS_USAGE;
  const { usage = `${name} …`, about = await describeSuite(name) } = COMMANDS[name] ?? {};
  return [`npm run bench -- ${usage}`, '', about, '', ...optionLines(findOptions(name))].join('\n');
}

async function describeSuite(name: string): Promise<string> {
  const file = LOAD_SUITES[name];
  if (file === undefined)
    return 'Compares a part of the service with a baseline on this machine, in one run. README.md has the variables that make it longer.';
  const { description, cases } = await importSuite(file);
  return `${description} Its kinds of calls: ${Object.keys(cases).join(', ')}.`;
}

/** The options of a command or suite. @throws Error for an unknown name. */
function findOptions(name: string): readonly Option[] {
  const command = COMMANDS[name];
  if (command !== undefined) return command.options;
  if (LOAD_SUITES[name] !== undefined) return LOAD_OPTIONS;
  if (BASELINE_SUITES[name] !== undefined) return RESULT_OPTIONS;
  throw unknownNameError(name);
}

/**
 * Checks a command with its words, or the names of suites.
 * @throws Error for an unknown name, and for an option that the command or a suite does not have.
 */
export function checkOptions(words: readonly string[], given: readonly string[]): void {
  const [first = ''] = words;
  for (const name of COMMANDS[first] === undefined ? words : [first]) {
    const options: readonly string[] = findOptions(name);
    const other = given.find((option) => !options.includes(option));
    if (other !== undefined)
      throw new Error(`${name} has no option --${other}: it takes --${options.join(', --')}.`);
  }
}

/** The error for an unknown name. It suggests the nearest suite or command. */
function unknownNameError(name: string): Error {
  return new Error(
    `There is no suite ${name}.${didYouMeanHint(name, NAMES)} There are: ${NAMES.join(', ')}.`,
  );
}

function optionLines(names: readonly Option[]): string[] {
  const heads = names.map(
    (name) => `  --${name}${COMMAND_OPTIONS[name][0] === '' ? '' : ` ${COMMAND_OPTIONS[name][0]}`}`,
  );
  const width = Math.max(...heads.map(({ length }) => length));
  return names.map((name, index) => `${(heads[index] ?? '').padEnd(width)}  ${COMMAND_OPTIONS[name][1]}`);
}
