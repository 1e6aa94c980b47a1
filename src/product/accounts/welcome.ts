import type { BootstrapResult } from './bootstrap.ts';

/**
 * The last output of a start, after the log: the address, and the secrets that the first start generated. The secrets
 * are shown only this once. The lines with the key and the first call are whole commands that can be copied.
 * @param url the address of the service, without a slash at the end.
 * @param signInAddress an address that signs the owner in. Null: only the console's address is printed.
 */
export function welcomeText(
  url: string,
  firstStart: Omit<BootstrapResult, 'finish'> | null,
  signInAddress: string | null,
): string {
  const lines = ['', `Darkroom is listening on ${url}`, `  documentation: ${url}/docs`];
  lines.push(`  console:       ${signInAddress ?? `${url}/console`}`);
  if (signInAddress !== null)
    lines.push('                 (this link signs you in once, within ten minutes)');
  const { account, password, key } = firstStart ?? {};
  if (password) lines.push(`  sign-in:       ${account?.email}  password: ${password}`);
  if (key) lines.push(`  API key:       ${key}`);
  if (password || key) lines.push('  These are shown only now: keep them.');
  if (key) lines.push('', `export KEY=${key}`, '', 'A first call:', '', ...firstCall(url));
  return `${lines.join('\n')}\n\n`;
}

/** All fields of the example card except its picture, because a card with only a title looks broken. */
const EXAMPLE_CARD = {
  eyebrow: 'Hello',
  title: 'It works',
  subtitle: 'This card was drawn by your own Darkroom.',
  author: 'You',
  site: 'darkroom',
};

function firstCall(url: string): string[] {
  const body = JSON.stringify({ templateId: 'builtin-template-social-card', data: EXAMPLE_CARD });
  return [
    'curl --fail-with-body -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" \\',
    `  -d '${body}' \\`,
    `  ${url}/api/v1/images/render -o card.png`,
  ];
}
