#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { assetsCommand, uploadCommand } from './commands/assets.ts';
import { configCommand } from './commands/config.ts';
import { jobCommand } from './commands/job.ts';
import { linkCommand } from './commands/link.ts';
import { listenCommand } from './commands/listen.ts';
import { opsCommand } from './commands/ops.ts';
import { compareCommand, metadataCommand, readCodesCommand, readTextCommand } from './commands/readings.ts';
import { renderCommand } from './commands/render.ts';
import { transformCommand } from './commands/transform.ts';
import { type CliCommand, CliContext } from './context.ts';
import { EXIT_CODES, exitCodeOf, UsageError } from './exit-codes.ts';
import { didYouMeanHint } from './nearest.ts';
import { Terminal } from './terminal.ts';

const COMMANDS_BY_NAME: Readonly<Record<string, CliCommand>> = {
  transform: transformCommand,
  render: renderCommand,
  metadata: metadataCommand,
  'read-text': readTextCommand,
  'read-codes': readCodesCommand,
  compare: compareCommand,
  upload: uploadCommand,
  assets: assetsCommand,
  link: linkCommand,
  job: jobCommand,
  ops: opsCommand,
  listen: listenCommand,
  config: configCommand,
};

const CLI_USAGE = `darkroom <command> …          (darkroom <command> --help, darkroom --version)

  transform   runs an op, a preset or steps on images, or makes several outputs of each
  render      draws a template, or HTML
  metadata    tells facts, tags and main colours
  read-text   reads printed text (OCR)
  read-codes  reads QR and bar codes
  compare     tells how two images differ
  upload      keeps images in the account
  assets      lists what is kept, or what looks like one of it
  link        makes an element for a page, whose picture is made when it is asked for
  job         submits, follows and ends jobs
  ops         lists the ops, or the parameters of one
  listen      forwards what jobs announce to an address of this machine
  config      keeps the address of the service, and the key

The service is DARKROOM_URL and the key DARKROOM_KEY, or what darkroom config keeps.
Results go to stdout: as text on a terminal, otherwise as NDJSON, one object per line.
Exit codes: 0 done, 1 broken, 2 wrong arguments, 3 refused, 4 out of credits or room, 5 try again later.
`;

/** Runs one command. @returns its exit code. */
async function main([name, ...args]: readonly string[], context: CliContext): Promise<number> {
  if (name === 'help') return main([...args.slice(0, 1), '--help'], context);
  if (name === undefined || name === '--help' || name === '-h') {
    process.stdout.write(CLI_USAGE);
    return name === undefined ? EXIT_CODES.usage : EXIT_CODES.done;
  }
  if (name === '--version' || name === '-V') {
    const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
    process.stdout.write(`darkroom ${version}\n`);
    return EXIT_CODES.done;
  }
  const command = COMMANDS_BY_NAME[name];
  if (command === undefined) {
    const message = `There is no command ${name}: see darkroom --help.${didYouMeanHint(name, Object.keys(COMMANDS_BY_NAME))}`;
    throw new UsageError(
      `${message} An op is run by transform, as in darkroom transform photo.jpg --op resize.`,
    );
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(command.usage);
    return EXIT_CODES.done;
  }
  return command.run(args, context);
}

const terminal = new Terminal(process.stdout, process.stderr);
// A program that reads the output, such as `head`, may close the pipe early. The command then ends without an error.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? 0 : EXIT_CODES.broken),
);
try {
  process.exitCode = await main(process.argv.slice(2), new CliContext(terminal, process.env));
} catch (error) {
  terminal.endProgress();
  terminal.writeFailure(error, 'darkroom');
  process.exitCode = exitCodeOf(error);
}
