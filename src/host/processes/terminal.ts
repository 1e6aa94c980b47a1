import { spawn } from 'node:child_process';
import type { Logger } from 'pino';

/**
 * Ends the process if a command was called with `--help` or with an unknown argument, so that a mistake starts nothing.
 * @param usage the text that `--help` prints.
 * @param known the options of the command.
 */
export function endOnHelp(words: readonly string[], usage: string, known: readonly string[] = []): void {
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const unknown = words.find((word) => !known.includes(word));
  if (unknown === undefined) return;
  process.stderr.write(`"${unknown}" is not an option here.\n${usage}`);
  process.exit(2);
}

/**
 * Keeps this process alive when its output cannot be written, because the reader of a pipe has ended (`npm start |
 * head`, a crashed log collector) or the disk is full. The output is lost, but calls are still served.
 */
export function surviveOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Writes to stdout; returns false when it is closed. */
export function printToStdout(text: string): Promise<boolean> {
  return new Promise((resolve) => process.stdout.write(text, (error) => resolve(!error)));
}

/** The programs that open an address in the browser of the user, keyed by platform. */
const BROWSER_OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...words: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens an address in the browser of the user. If there is none, the log says so. */
export function openInBrowser(address: string, log: Logger): void {
  const [program, ...words] = BROWSER_OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  child.on('error', () =>
    log.warn(`${program} could not open a browser: open the printed address of the console yourself.`),
  );
  child.unref();
}
