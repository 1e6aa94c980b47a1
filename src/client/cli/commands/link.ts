import { type ImageBytes, isImageReference, referenceFields } from '../../bodies.ts';
import type { NewDeliveryLink } from '../../schema.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import { findInputs } from '../inputs.ts';
import { parseOp, readListOption, requireExactlyOneWorkOption } from '../parameters.ts';

const LINK_OPTIONS = {
  preset: { type: 'string' },
  steps: { type: 'string' },
  widths: { type: 'string' },
  'expires-in': { type: 'string' },
} as const;

export const linkCommand: CliCommand = {
  usage: `darkroom link IMAGE --op NAME [--PARAMETER VALUE …]
darkroom link IMAGE --preset SLUG | --steps FILE.json | --steps '[…]'

Prints an <img> for a page. Its picture is made when it is asked for, and needs no key. IMAGE is the id of an asset or an
address; a file is uploaded, and kept.

  --widths 320,640   the browser chooses among these
  --expires-in N     seconds; without it the address has no end
`,
  async run(args, context) {
    const { positionals, values, op, parameters } = await parseOp(args, LINK_OPTIONS, () => context.client());
    const { preset, steps, widths, 'expires-in': expiresIn } = values as Record<string, string | undefined>;
    requireExactlyOneWorkOption([op, preset, steps]);
    const [input, second] = (await findInputs(positionals, process.stdin)).inputs;
    if (input === undefined || second !== undefined) throw new UsageError('Name one image.');
    const client = await context.client();
    const image = await input.open();
    const named = isImageReference(image)
      ? referenceFields(image)
      : { assetId: (await client.assets.upload(image as ImageBytes)).id };
    const body = {
      ...named,
      ...(op && { op: op.op, parameters }),
      preset,
      steps: steps && (await readListOption('steps', steps)),
      widths: widths?.split(',').map(Number),
      expiresInSeconds: expiresIn && Number(expiresIn),
    } as NewDeliveryLink;
    const link = await client.request('POST', '/delivery-links', { body });
    context.terminal.writeResult(link, link.html ?? '');
    return EXIT_CODES.done;
  },
};
