import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Setting } from '../src/platform/setting.ts';
import { SETTINGS } from './index.ts';

/** config/settings.md: every setting with its default and meaning, by slice. `npm run settings` writes it. */
export function settingsPage(): string {
  const sections = Object.entries(SETTINGS).map(([slice, table]) => {
    const rows = Object.entries<Setting<unknown>>(table).map(([name, setting]) => row(name, setting));
    return `## ${slice}\n\n| Setting | Default | Unit | Accepted | Meaning |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Settings\n\nEnvironment variables. Every one has a default that works; a wrong one stops the start with a sentence that says what is accepted.\n\n${sections.join('\n')}`;
}

function row(name: string, { defaultText, accepts, description }: Setting<unknown>): string {
  const accepted = accepts.replace(/^a whole number from /, '').replace(/,? (is|are) expected$/, '');
  const cells = [`\`${name}\``, defaultText, unitOf(name), accepted, description];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The unit is the last word of a setting's name. */
const UNITS: Readonly<Record<string, string>> = { MS: 'ms', SECONDS: 's', MEGABYTES: 'MB (1,048,576 bytes)' };

function unitOf(name: string): string {
  return UNITS[name.slice(name.lastIndexOf('_') + 1)] ?? '';
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, 'settings.md'), settingsPage());
