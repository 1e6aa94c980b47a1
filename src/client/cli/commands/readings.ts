import { parseArgs } from 'node:util';
import type { ImageInput } from '../../bodies.ts';
import type { Images } from '../../nouns/images.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import { findInputs } from '../inputs.ts';

/**
 * Makes a command that reads something from each image: its text, its codes or its facts.
 * @param read reads one image.
 * @param textOf formats the result for people.
 */
function readingCommand<T extends object>(
  usage: string,
  option: string | undefined,
  read: (images: Images, input: ImageInput, value: string | undefined) => Promise<T>,
  textOf: (answer: T) => string,
): CliCommand {
  return {
    usage,
    async run(args, context) {
      const options = option === undefined ? {} : { [option]: { type: 'string' } as const };
      const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
      if (positionals.length === 0)
        throw new UsageError('Name a file, a folder, an address, or - for stdin.');
      const { inputs } = await findInputs(positionals, process.stdin);
      const { images } = await context.client();
      for (const input of inputs) {
        const value = option === undefined ? undefined : values[option];
        const answer = await read(images, await input.open(), value);
        context.terminal.writeResult({ input: input.name, ...answer }, `${input.name}\n${textOf(answer)}`);
      }
      return EXIT_CODES.done;
    },
  };
}

const formatJson = (answer: object) => JSON.stringify(answer, null, 2);

export const metadataCommand = readingCommand(
  `darkroom metadata FILE|FOLDER|URL|- … [--palette N]

Tells the facts and the tags of images, and with --palette their main colours (2 to 12).
`,
  'palette',
  (images, input, palette) =>
    images.metadata(input, palette === undefined ? {} : { palette: Number(palette) }),
  formatJson,
);

export const readTextCommand = readingCommand(
  `darkroom read-text FILE|FOLDER|URL|- … [--language CODE]

Reads the printed text of images (OCR).
`,
  'language',
  (images, input, language) => images.readText(input, language === undefined ? {} : { language }),
  ({ text }) => text,
);

export const readCodesCommand = readingCommand(
  `darkroom read-codes FILE|FOLDER|URL|- …

Reads the QR and bar codes of images.
`,
  undefined,
  (images, input) => images.readCodes(input),
  ({ codes }) => codes.map(({ format, text }) => `${format}: ${text}`).join('\n'),
);

export const compareCommand: CliCommand = {
  usage: `darkroom compare ONE OTHER [--ssimulacra2]

Tells how two images of one size differ: two files, or two addresses or assets. --ssimulacra2 adds that score.
`,
  async run(args, context) {
    const options = { ssimulacra2: { type: 'boolean', default: false } } as const;
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const { inputs } = await findInputs(positionals, process.stdin);
    const [one, other] = inputs;
    if (one === undefined || other === undefined || inputs.length > 2)
      throw new UsageError('Name two images.');
    const { images } = await context.client();
    const difference = await images.compare(await one.open(), await other.open(), values);
    context.terminal.writeResult(difference, formatJson(difference));
    return EXIT_CODES.done;
  },
};
