import { SETTINGS } from './index.ts';
import type { Setting } from './setting.ts';

/** config/settings.md: every setting with its default and meaning, by slice. `npm run settings` writes it. */
export function settingsPage(): string {
  const sections = Object.entries(SETTINGS).map(([slice, table]) => {
    const rows = Object.entries<Setting<unknown>>(table).map(
      ([name, { defaultText, description }]) =>
        `| \`${name}\` | ${defaultText} | ${description.replaceAll('|', '\\|')} |`,
    );
    return `## ${slice}\n\n| Setting | Default | Meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Settings\n\nEnvironment variables. Every one has a default that works; a wrong one stops the start with a sentence that says what is accepted.\n\n${sections.join('\n')}`;
}
