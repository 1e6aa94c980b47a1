import { parseArgs } from 'node:util';
import type { ImageBytes } from '../../bodies.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import { findInputs } from '../inputs.ts';

const OPTIONS = { collection: { type: 'string', short: 'c' } } as const;

export const uploadCommand: CliCommand = {
  usage: `darkroom upload FILE|FOLDER|URL|- … [--collection NAME]

Keeps images in the account, and prints the id of each. Equal bytes are one asset.
`,
  async run(args, context) {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    if (positionals.length === 0) throw new UsageError('Name a file, a folder, an address, or - for stdin.');
    const { inputs } = await findInputs(positionals, process.stdin);
    const client = await context.client();
    for (const input of inputs) {
      const image = (await input.open()) as ImageBytes | { url: string };
      const asset = await client.assets.upload(image, values);
      context.terminal.result(
        { input: input.name, assetId: asset.id, ...asset },
        `${asset.id}  ${input.name}`,
      );
    }
    return EXIT_CODES.done;
  },
};
