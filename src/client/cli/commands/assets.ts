import { parseArgs } from 'node:util';
import type { ImageBytes } from '../../bodies.ts';
import type { QueryOf } from '../../calls.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import { findInputs } from '../inputs.ts';

const UPLOAD_OPTIONS = { collection: { type: 'string', short: 'c' } } as const;

export const uploadCommand: CliCommand = {
  usage: `darkroom upload FILE|FOLDER|URL|- … [--collection NAME]

Keeps images in the account, and prints the id of each. Equal bytes are one asset.
`,
  async run(args, context) {
    const { values, positionals } = parseArgs({
      args,
      options: UPLOAD_OPTIONS,
      allowPositionals: true,
    });
    if (positionals.length === 0) throw new UsageError('Name a file, a folder, an address, or - for stdin.');
    const { inputs } = await findInputs(positionals, process.stdin);
    const client = await context.client();
    for (const input of inputs) {
      const image = (await input.open()) as ImageBytes | { url: string };
      const asset = await client.assets.upload(image, values);
      const text = `${asset.id}  ${input.name}`;
      context.terminal.writeResult({ input: input.name, assetId: asset.id, ...asset }, text);
    }
    return EXIT_CODES.done;
  },
};

const LIST_OPTIONS = {
  collection: { type: 'string', short: 'c' },
  'similar-to': { type: 'string' },
  distance: { type: 'string' },
  limit: { type: 'string', default: '100' },
} as const;

export const assetsCommand: CliCommand = {
  usage: `darkroom assets [--collection NAME] [--limit N]
darkroom assets --similar-to ID [--distance 0…7]

Lists the images that the account keeps, the newest first; or those that look like one of them, the nearest first.
`,
  async run(args, context) {
    const { values } = parseArgs({ args, options: LIST_OPTIONS });
    const { collection, distance, limit, 'similar-to': similarTo } = values;
    for (const [name, value = '0'] of Object.entries({ limit, distance }))
      if (Number.isNaN(Number(value))) throw new UsageError(`--${name} must be a number.`);
    const query: QueryOf<'GET /assets'> = {
      ...(collection !== undefined && { collection }),
      ...(similarTo !== undefined && { similarTo }),
      ...(distance !== undefined && { distance: Number(distance) }),
    };
    const { assets } = await context.client();
    for (const asset of await assets.list(query).all(Number(limit)))
      context.terminal.writeResult(asset, `${asset.id}  ${asset.distance ?? ''}  ${asset.name ?? ''}`);
    return EXIT_CODES.done;
  },
};
