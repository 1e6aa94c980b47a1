import { parseArgs } from 'node:util';

/** The options of the command line. Texts that were not given are empty. */
export interface Words {
  /** Suites, or `compare` and two files. */
  names: string[];
  help: boolean;
  url: string;
  key: string;
  yes: boolean;
  suiteFile: string;
  imagesFolder: string;
  thresholds: boolean;
  against: string;
  rounds: number;
  /** Share of slowness from which a comparison fails; null when it never does. */
  failOver: number | null;
}

const DEFAULT_ROUNDS = 8;
const FEWEST_ROUNDS = 3;

/** @throws Error with a sentence that says what is accepted. */
export function readWords(argv: readonly string[]): Words {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      url: { type: 'string', default: '' },
      key: { type: 'string', default: '' },
      yes: { type: 'boolean', default: false },
      suite: { type: 'string', default: '' },
      images: { type: 'string', default: '' },
      thresholds: { type: 'boolean', default: false },
      against: { type: 'string', default: '' },
      rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
      'fail-over': { type: 'string', default: '' },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < FEWEST_ROUNDS)
    throw new Error(
      `--rounds is "${values.rounds}", but a whole number from ${FEWEST_ROUNDS} on is expected.`,
    );
  return {
    names: positionals,
    help: values.help,
    url: values.url,
    key: values.key,
    yes: values.yes,
    suiteFile: values.suite,
    imagesFolder: values.images,
    thresholds: values.thresholds,
    against: values.against,
    rounds,
    failOver: values['fail-over'] === '' ? null : shareOf(values['fail-over']),
  };
}

/** Reads a percentage: `5%` is 0.05. */
function shareOf(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? [];
  if (number === undefined)
    throw new Error(`--fail-over is "${text}", but a percentage such as 5% is expected.`);
  return Number(number) / 100;
}
