import { parseArgs } from 'node:util';
import type { OpDefinition, OpParameter } from '../../schema.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES } from '../exit-codes.ts';

export const opsCommand: CliCommand = {
  usage: `darkroom ops [NAME]

Lists the ops of the service, or the parameters of one. Needs no key.
`,
  async run(args, context) {
    const { positionals } = parseArgs({ args, allowPositionals: true });
    const { ops } = await context.client();
    const { terminal } = context;
    const [name] = positionals;
    if (name !== undefined) {
      const op = await ops.get(name);
      terminal.writeResult(op, opText(op));
      return EXIT_CODES.done;
    }
    for (const op of await ops.list())
      terminal.writeResult(op, `${op.op.padEnd(18)} ${op.kind.padEnd(13)} ${op.description}`);
    return EXIT_CODES.done;
  },
};

function opText({ op, description, params, pricing }: OpDefinition): string {
  const rows = Object.entries(params).map(([name, parameter]) => {
    const kind = [typeText(parameter), boundsText(parameter)].filter((text) => text !== '').join(', ');
    return `  --${name.padEnd(14)} ${kind}\n      ${parameter.description}`;
  });
  return [`${op}: ${description}`, pricing.summary, '', ...rows].join('\n');
}

function typeText({ type, enum: words = [] }: OpParameter): string {
  return words.length > 0 ? words.join(' | ') : type;
}

function boundsText({ min, max, default: fallback }: OpParameter): string {
  const bounds = min === undefined && max === undefined ? '' : `${min ?? '…'} to ${max ?? '…'}`;
  return [bounds, fallback === undefined ? '' : `default ${fallback}`]
    .filter((text) => text !== '')
    .join(', ');
}
