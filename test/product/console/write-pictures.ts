import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright';
import t from 'tap';
import { openConsole } from '../../support/console.ts';
import { LOOPBACK } from '../webhooks/receiver.ts';
import { useAccount } from './used-account.ts';

/** The screens that are photographed, and what each does first. */
const SCREENS: readonly { name: string; path: string; prepare?: (page: Page) => Promise<unknown> }[] = [
  { name: 'sign-in', path: '/sign-in' },
  {
    name: 'playground',
    path: '/playground',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Use an example' }).click();
      await page.getByRole('link', { name: 'Download' }).waitFor();
    },
  },
  { name: 'playground-empty', path: '/playground' },
  { name: 'templates', path: '/templates' },
  {
    name: 'template',
    path: '/templates/builtin-template-social-card',
    prepare: (page) => page.locator('.preview-picture img').waitFor(),
  },
  { name: 'presets', path: '/presets' },
  { name: 'preset', path: '/presets/builtin-thumbnail-set' },
  { name: 'jobs', path: '/jobs' },
  { name: 'job', path: '/jobs', prepare: (page) => openFirst(page, 'Jobs') },
  { name: 'new-job', path: '/jobs/new' },
  { name: 'assets', path: '/assets', prepare: (page) => page.locator('.tile img').last().waitFor() },
  {
    name: 'asset',
    path: '/assets',
    prepare: async (page) => {
      await page.locator('.tile a').first().click();
      await page.locator('.asset-picture img').waitFor();
    },
  },
  { name: 'webhooks', path: '/webhooks' },
  { name: 'endpoint', path: '/webhooks', prepare: (page) => openFirst(page, 'Endpoints') },
  { name: 'requests', path: '/requests' },
  { name: 'request', path: '/requests?status=400', prepare: (page) => openFirst(page, 'Calls') },
  { name: 'errors', path: '/requests?view=errors' },
  { name: 'usage', path: '/usage', prepare: (page) => page.locator('canvas').first().waitFor() },
  { name: 'ledger', path: '/usage?view=ledger' },
  { name: 'keys', path: '/usage?view=keys' },
  { name: 'sessions', path: '/usage?view=sessions' },
];

/** Opens the first row of a table. */
async function openFirst(page: Page, table: string): Promise<void> {
  await page.getByRole('table', { name: table }).locator('tbody a').first().click();
  await page.waitForLoadState('networkidle');
}
const WIDTHS = [1_280, 390];

/**
 * `node test/product/console/write-pictures.ts DIRECTORY [NAME …]`: photographs the screens of the console, light and
 * dark, wide and narrow.
 */
const [directory = 'pictures', ...names] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
t.setTimeout(600_000);
const console = await openConsole(t, { settings: LOOPBACK });
await useAccount(t, console);
for (const { name, path, prepare } of SCREENS) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const colour of ['light', 'dark'] as const) {
    const account = name === 'sign-in' ? { account: null } : {};
    const { page, context, wrong } = await console.page({ path, colour, height: 900, ...account });
    await page.waitForLoadState('networkidle');
    await prepare?.(page);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({
        path: join(directory, `${name}-${colour}-${width}.png`),
        animations: 'disabled',
      });
    }
    t.comment([name, colour, ...wrong].join(' '));
    await context.close();
  }
}
t.end();
