import type { Outcome } from './search.ts';

/** The text of darkroom.env: the settings that were shown to be better, or a line that says that there are none. */
export function environmentFile({ recommended, reason }: Outcome, now: Date): string {
  const lines = Object.entries(recommended).map(([name, value]) => `${name}=${value}`);
  const head = [`# Written by npm run tune at ${now.toISOString()}.`, `# ${reason}`];
  return `${[...head, ...lines].join('\n')}\n`;
}
