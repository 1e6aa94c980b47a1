import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Overrides } from './load/checked-suite.ts';
import { FORMATS, type Format } from './report/formats.ts';

/** The options of the command line. Texts that were not given are empty. */
export interface BenchOptions {
  /** The command line as a shell takes it, without the key. */
  command: string;
  /** Suites; or `compare` and two files; or `capacity` and its cases; or `replay` and a log. */
  names: string[];
  /** Names of the options that were given, without `help`. */
  given: string[];
  help: boolean;
  url: string;
  /** API keys of --key, --keys or DARKROOM_KEY; none if the bench starts the service. */
  keys: string[];
  yes: boolean;
  suiteFile: string;
  imagesFolder: string;
  thresholds: boolean;
  /** Objective of `capacity`, such as `p99<200ms,errors<0.1%`. */
  slo: string;
  /** Speed of `replay`: 2 sends the calls in half of their time. */
  speed: number;
  against: string;
  rounds: number;
  /** The share by which B may be slower before a comparison fails; null if slowness never fails it. */
  failOver: number | null;
  /** Folder of the results; empty: bench/results. */
  out: string;
  /** Files of the result for other programs. */
  formats: Format[];
  /**
   * The report that the run is compared with. If the file does not exist, the report of the run is saved there. Empty:
   * none.
   */
  baseline: string;
  overrides: Overrides;
}

const DEFAULT_ROUNDS = 8;
const MIN_ROUNDS = 3;

/** @throws Error with a sentence that says what is accepted. */
export function readBenchOptions(argv: readonly string[]): BenchOptions {
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    tokens: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      url: { type: 'string', default: '' },
      key: { type: 'string', default: '' },
      keys: { type: 'string', default: '' },
      yes: { type: 'boolean', default: false },
      suite: { type: 'string', default: '' },
      images: { type: 'string', default: '' },
      thresholds: { type: 'boolean', default: false },
      slo: { type: 'string', default: '' },
      speed: { type: 'string' },
      against: { type: 'string', default: '' },
      rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
      'fail-over': { type: 'string', default: '' },
      out: { type: 'string', default: '' },
      formats: { type: 'string', default: '' },
      baseline: { type: 'string', default: '' },
      seconds: { type: 'string' },
      rate: { type: 'string' },
      connections: { type: 'string' },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < MIN_ROUNDS)
    throw new Error(`--rounds is "${values.rounds}", but a whole number from ${MIN_ROUNDS} on is expected.`);
  return {
    command: commandLine('npm run bench', argv),
    names: positionals,
    given: tokens.flatMap((token) => (token.kind === 'option' && token.name !== 'help' ? token.name : [])),
    help: values.help,
    url: values.url,
    keys: parseKeys(values.key, values.keys),
    yes: values.yes,
    suiteFile: values.suite,
    imagesFolder: values.images,
    thresholds: values.thresholds,
    slo: values.slo,
    speed: positiveNumber('speed', values.speed) ?? 1,
    against: values.against,
    rounds,
    failOver: values['fail-over'] === '' ? null : parseShare(values['fail-over']),
    out: values.out,
    formats: parseFormats(values.formats),
    baseline: values.baseline,
    overrides: {
      seconds: positiveNumber('seconds', values.seconds),
      rate: positiveNumber('rate', values.rate),
      connections: positiveNumber('connections', values.connections, { isWhole: true }),
    },
  };
}

/** The command line that repeats a command in a shell, without the key. */
export function commandLine(program: string, argv: readonly string[]): string {
  if (argv.length === 0) return program;
  const words = argv.map((word, index) =>
    argv[index - 1] === '--key' ? '…' : shellWord(word.replace(/^--key=.*/, '--key=…')),
  );
  return [program, '--', ...words].join(' ');
}

/** A word, quoted if a shell would change it. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./…-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The keys of a file, one on each line; else the one key of the command line or the environment. */
function parseKeys(key: string, file: string): string[] {
  if (file === '') return [key || (process.env.DARKROOM_KEY ?? '')].filter((one) => one !== '');
  const keys = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0)
    throw new Error(`--keys is "${file}", but it holds no key; one on each line is expected.`);
  return keys;
}

function parseFormats(text: string): Format[] {
  const names = text.split(',').filter((name) => name !== '');
  const known = Object.keys(FORMATS) as Format[];
  const formats = known.filter((name) => names.includes(name));
  if (formats.length !== names.length)
    throw new Error(
      `--formats is "${text}", but names of ${known.join(', ')} are expected, joined by commas.`,
    );
  return formats;
}

/** The value of an option that is a positive number; null if the option was not given. */
function positiveNumber(name: string, text: string | undefined, { isWhole = false } = {}): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!(value > 0) || value === Number.POSITIVE_INFINITY || (isWhole && !Number.isInteger(value)))
    throw new Error(`--${name} is "${text}", but a ${isWhole ? 'whole ' : ''}number above 0 is expected.`);
  return value;
}

/** Reads a percentage: `5%` is 0.05. */
function parseShare(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? [];
  if (number === undefined)
    throw new Error(`--fail-over is "${text}", but a percentage such as 5% is expected.`);
  return Number(number) / 100;
}
