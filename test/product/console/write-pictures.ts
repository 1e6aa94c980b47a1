import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright';
import t from 'tap';
import { openConsole } from '../../support/console.ts';

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
];
const WIDTHS = [1_280, 390];

/**
 * `node test/product/console/write-pictures.ts DIRECTORY [NAME …]`: photographs the screens of the console, light and
 * dark, wide and narrow.
 */
const [directory = 'pictures', ...names] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
t.setTimeout(600_000);
const console = await openConsole(t);
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
