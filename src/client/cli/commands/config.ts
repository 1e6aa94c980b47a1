import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { configurationPath, readConfiguration, writeConfiguration } from '../configuration.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const USAGE_HINT = 'Call darkroom config set url ADDRESS, darkroom config set key, or darkroom config show.';

export const configCommand: CliCommand = {
  usage: `darkroom config set url ADDRESS     keeps the address of the service
darkroom config set key             keeps the key, which is asked for, or read from stdin
darkroom config show                shows both, the key masked

Nobody else can read the file. DARKROOM_URL and DARKROOM_KEY go before it; DARKROOM_CONFIG names another file.
`,
  async run(args, { environment, terminal }) {
    const { positionals } = parseArgs({ args, allowPositionals: true });
    const [action, name, value, ...more] = positionals;
    if (action === 'show' && name === undefined) {
      const { url, key } = await readConfiguration(environment);
      const shown = { path: configurationPath(environment), url, key: key && `drk_…${key.slice(-4)}` };
      terminal.writeResult(
        shown,
        Object.entries(shown)
          .map((pair) => pair.join('  '))
          .join('\n'),
      );
      return EXIT_CODES.done;
    }
    if (action !== 'set' || more.length > 0) throw new UsageError(USAGE_HINT);
    if (name === 'url' && value !== undefined) {
      if (!/^https?:\/\//i.test(value))
        throw new UsageError('The address must begin with http:// or https://.');
      await writeConfiguration(environment, { url: value });
      return EXIT_CODES.done;
    }
    if (name !== 'key') throw new UsageError(USAGE_HINT);
    if (value !== undefined)
      throw new UsageError('Arguments are seen by other users: leave the key out, and it is asked for.');
    const key = await readSecret(terminal);
    if (key === '') throw new UsageError('The key is empty: send it to stdin as one line.');
    await writeConfiguration(environment, { key });
    return EXIT_CODES.done;
  },
};

const ENTER_KEY_PATTERN = /[\r\n]/;
const INTERRUPT_KEY = '\x03';

/** Reads a secret from the terminal without showing it, or from a pipe. */
async function readSecret(terminal: Terminal): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return (await text(stdin)).trim();
  terminal.writeNote('Key (not shown):');
  stdin.setRawMode(true);
  try {
    let typed = '';
    for await (const chunk of stdin) {
      const part = String(chunk);
      if (part.includes(INTERRUPT_KEY)) return '';
      typed += part;
      if (ENTER_KEY_PATTERN.test(part)) break;
    }
    return typed.trim();
  } finally {
    stdin.setRawMode(false);
  }
}
