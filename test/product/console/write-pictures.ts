import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright';
import sharp from 'sharp';
import t from 'tap';
import { openConsole } from '../../support/console.ts';
import { pretendHost } from '../../support/operated.ts';
import { LOOPBACK } from '../webhooks/receiver.ts';
import { writeRuns } from './runs-folder.ts';
import { useAccount } from './used-account.ts';

/** A screen that is photographed. */
interface Shot {
  name: string;
  path: string;
  /** Who looks at it; left out: the account. */
  as?: 'nobody' | 'operator';
  /** What is done first. */
  prepare?: (page: Page) => Promise<unknown>;
}

const ROOT = join(import.meta.dirname, '../../..');
const TOKEN = 'a-token-of-an-operator-for-tests';
/** The pictures of the README, which lie in docs/console. */
const OF_README = ['operate', 'playground', 'jobs'];
const MAX_README_BYTES = 200_000;
const WEBP_QUALITY = 80;
const WIDTHS = [1_280, 390];
const COMPRESSED = [{ op: 'compress', parameters: { maxBytes: 25_000, format: 'webp' } }];

/**
 * `npm run pictures` writes those of the README. `npm run pictures -- DIRECTORY [NAME …]` photographs the screens of
 * the console, light and dark, wide and narrow, each as long as it is.
 */
const [directory, ...names] = process.argv.slice(2);
t.setTimeout(900_000);
const folder = t.testdir();
writeRuns(folder);
const settings = { ...LOOPBACK, OPERATOR_TOKEN: TOKEN, RESULTS_DIR: folder };
const console = await openConsole(t, { settings });
const { server, account } = console;
await pretendHost(server.stores.coordination, 'images-1');
const { templateId, presetSlug } = await useAccount(t, console);

const SHOTS: readonly Shot[] = [
  { name: 'sign-in', path: '/sign-in', as: 'nobody' },
  {
    name: 'playground',
    path: `/playground?${new URLSearchParams({ steps: JSON.stringify(COMPRESSED) })}`,
    prepare: tryPhoto,
  },
  { name: 'playground-empty', path: '/playground' },
  {
    name: 'playground-several',
    path: '/playground',
    prepare: async (page) => {
      await page.getByLabel('Make several results').check();
      await tryPhoto(page);
    },
  },
  { name: 'templates', path: '/templates' },
  {
    name: 'template',
    path: '/templates/builtin-template-social-card',
    prepare: (page) => page.locator('.preview-picture img').waitFor(),
  },
  {
    name: 'template-versions',
    path: `/templates/${templateId}/versions`,
    prepare: (page) => page.locator('.preview-picture img').nth(1).waitFor(),
  },
  { name: 'presets', path: '/presets' },
  { name: 'preset', path: '/presets/builtin-thumbnail-set' },
  { name: 'preset-versions', path: `/presets/${presetSlug}?with=1` },
  {
    name: 'preset-editor',
    path: `/presets/${presetSlug}`,
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('dialog').locator('.step-form').waitFor();
    },
  },
  { name: 'jobs', path: '/jobs', prepare: (page) => page.getByRole('table', { name: 'Jobs' }).waitFor() },
  { name: 'job', path: '/jobs', prepare: (page) => openFirst(page, 'Jobs') },
  { name: 'new-job', path: '/jobs/new' },
  { name: 'assets', path: '/assets', prepare: (page) => page.locator('.tile img').nth(7).waitFor() },
  {
    name: 'asset',
    path: '/assets',
    prepare: async (page) => {
      await page.locator('.tile a').last().click();
      await page.locator('.asset-picture img').waitFor();
    },
  },
  { name: 'webhooks', path: '/webhooks' },
  {
    name: 'new-endpoint',
    path: '/webhooks',
    prepare: (page) => page.getByRole('button', { name: 'New endpoint' }).first().click(),
  },
  { name: 'endpoint', path: '/webhooks', prepare: (page) => openFirst(page, 'Endpoints') },
  {
    name: 'delivery',
    path: '/webhooks',
    prepare: async (page) => {
      await openFirst(page, 'Endpoints');
      await openFirst(page, 'Deliveries');
    },
  },
  { name: 'requests', path: '/requests' },
  { name: 'request', path: '/requests?status=400', prepare: (page) => openFirst(page, 'Calls') },
  { name: 'errors', path: '/requests?view=errors' },
  { name: 'usage', path: '/usage', prepare: (page) => page.locator('canvas').first().waitFor() },
  { name: 'ledger', path: '/usage?view=ledger' },
  { name: 'keys', path: '/usage?view=keys' },
  { name: 'sessions', path: '/usage?view=sessions' },
  { name: 'operator-sign-in', path: '/operate' },
  { name: 'operate', path: '/operate', as: 'operator', prepare: waitForPlots },
  {
    name: 'runs',
    path: '/runs',
    as: 'operator',
    prepare: (page) => page.getByRole('table', { name: 'Runs' }).waitFor(),
  },
  {
    name: 'run',
    path: '/runs/compare?names=smoke-2026-01-01T00-00-00.json',
    as: 'operator',
    prepare: (page) => page.locator('svg.curves').waitFor(),
  },
  {
    name: 'runs-compared',
    path: '/runs/compare?names=smoke-2026-01-01T00-00-00.json,smoke-2026-01-02T00-00-00.json',
    as: 'operator',
    prepare: (page) => page.locator('svg.curves').waitFor(),
  },
];

/** Opens the first row of a table. */
async function openFirst(page: Page, table: string): Promise<void> {
  await page.getByRole('table', { name: table }).locator('tbody a').first().click();
  await page.waitForLoadState('networkidle');
}

async function tryPhoto(page: Page): Promise<void> {
  const photo = join(ROOT, 'docs/gallery/sources/macaws.jpg');
  await page.getByLabel('Picture', { exact: true }).setInputFiles(photo);
  await page.getByRole('link', { name: 'Download' }).waitFor();
  await page
    .locator('.facts')
    .getByText(/^\d+ credits?$/)
    .first()
    .waitFor();
}

async function waitForPlots(page: Page): Promise<void> {
  await page.locator('canvas').nth(7).waitFor();
  await page.getByText(/examinations found nothing wrong/).waitFor({ timeout: 120_000 });
}

async function open({ name, path, as, prepare }: Shot, colour: 'light' | 'dark') {
  const who = as === 'nobody' ? null : account;
  const opened = await console.page({ path, colour, height: 900, account: who });
  const { page, wrong } = opened;
  await page.waitForLoadState('networkidle');
  if (as === 'operator') {
    await page.getByLabel('Token of the operator').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByLabel('Token of the operator').waitFor({ state: 'detached' });
  }
  await prepare?.(page);
  t.comment([name, colour, ...wrong].join(' '));
  return opened;
}

/** Writes the pictures of the README. @returns their bytes in all. */
async function writeReadme(): Promise<number> {
  const target = join(ROOT, 'docs/console');
  mkdirSync(target, { recursive: true });
  let bytes = 0;
  for (const shot of SHOTS.filter(({ name }) => OF_README.includes(name))) {
    const { page, context } = await open(shot, 'light');
    const picture = await page.screenshot({ animations: 'disabled' });
    const file = await sharp(picture).webp({ quality: WEBP_QUALITY, effort: 6 }).toBuffer();
    await writeFile(join(target, `${shot.name}.webp`), file);
    bytes += file.length;
    await context.close();
  }
  return bytes;
}

async function writeAll(target: string): Promise<void> {
  mkdirSync(target, { recursive: true });
  for (const shot of SHOTS) {
    if (names.length > 0 && !names.includes(shot.name)) continue;
    for (const colour of ['light', 'dark'] as const) {
      const { page, context } = await open(shot, colour);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const path = join(target, `${shot.name}-${colour}-${width}.png`);
        await page.screenshot({ path, animations: 'disabled', fullPage: true });
      }
      await context.close();
    }
  }
}

if (directory === undefined) {
  const bytes = await writeReadme();
  t.ok(bytes <= MAX_README_BYTES, `${bytes} bytes`);
} else await writeAll(directory);
t.end();
