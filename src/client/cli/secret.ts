import { text } from 'node:stream/consumers';
import type { Terminal } from './terminal.ts';

const ENTER = /[\r\n]/;
const INTERRUPT = '\x03';

/** Reads a secret that is typed without being shown, or piped to stdin. */
export async function readSecret(terminal: Terminal): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return (await text(stdin)).trim();
  terminal.note('Key (not shown):');
  stdin.setRawMode(true);
  try {
    let typed = '';
    for await (const chunk of stdin) {
      const part = String(chunk);
      if (part.includes(INTERRUPT)) return '';
      typed += part;
      if (ENTER.test(part)) break;
    }
    return typed.trim();
  } finally {
    stdin.setRawMode(false);
  }
}
