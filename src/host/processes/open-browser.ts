import { spawn } from 'node:child_process';
import type { Logger } from 'pino';

/** The programs that open an address in the browser of the user, by platform. */
const OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...words: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens an address in the browser of the user. If there is none, the log says so. */
export function openInBrowser(address: string, log: Logger): void {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  child.on('error', () =>
    log.warn(`${program} could not open a browser: open the printed address of the console yourself.`),
  );
  child.unref();
}
