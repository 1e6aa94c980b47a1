// needs: server, browser, alone
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Locator } from 'playwright';
import t from 'tap';
import { findBrowser } from '../../workers/render/executable.ts';
import { overflowOf, seriousFaults } from '../support/console.ts';
import { startServer } from '../support/harness.ts';
import { openReader } from './reader.ts';

const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '100000' } });
const reader = await openReader(t, server);
const browser = await openBrowser();
t.teardown(() => browser.close());

const PAGES = [
  '',
  'ops',
  'ops/resize',
  'ops/render_template',
  'createJob',
  'guides/jobs',
  'errors',
  'guidelines',
];

/** One page of each kind: what they are made of is on all others. */
const READ_BY_EAR = ['', 'ops/resize', 'createJob', 'guides/jobs', 'errors'];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

async function openBrowser(): Promise<Browser> {
  const folder = join(tmpdir(), 'darkroom-test-browser');
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', folder);
  return chromium.launch({ executablePath: path, chromiumSandbox: false });
}

/** A page of the documentation; the test fails if it logs an error, or if a file of it is missing. */
async function openPage(path: string, options: Parameters<Browser['newPage']>[0] = {}) {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 }, ...options });
  const wrong: string[] = [];
  page.on('response', (response) => response.status() >= 400 && wrong.push(response.url()));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('pageerror', (error) => wrong.push(String(error)));
  await page.goto(`${server.url}/docs/${path}`);
  return { page, wrong };
}

t.test('no page is scrolled sideways, from a phone to a wide screen, and nothing is missing', async (t) => {
  for (const path of PAGES) {
    const { page, wrong } = await openPage(path);
    t.match(await page.title(), /Darkroom documentation$/);
    for (const width of [320, 390, 768, 1_280]) {
      await page.setViewportSize({ width, height: 800 });
      t.equal(await overflowOf(page), 0, `${path} at ${width} px`);
    }
    t.same(wrong, [], path);
    await page.close();
  }
});

t.test('no page has a serious fault for people who read it by other means', async (t) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  for (const path of READ_BY_EAR) {
    await page.goto(`${server.url}/docs/${path}`);
    for (const [width, colorScheme] of [
      [1_280, 'light'],
      [1_280, 'dark'],
      [768, 'light'],
      [390, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      t.same(await seriousFaults(page, RULES), [], `${path} at ${width} px, ${colorScheme}`);
    }
  }
  await context.close();
});

t.test('the pages are whole without scripts: samples have their tabs', async (t) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${server.url}/docs/ops/resize`);
  t.ok(await page.getByLabel('curl', { exact: true }).last().isVisible());
  await page.getByText('Python', { exact: true }).click();
  t.match(await page.locator('.samples pre:visible').first().innerText(), /import os, requests/);
  t.notOk(await page.locator('form.trial').isVisible(), 'a form that cannot run is not shown');
  await context.close();
});

t.test('the language that a reader chose is kept on the next page', async (t) => {
  const { page } = await openPage('ops/resize');
  await page.getByText('TypeScript', { exact: true }).first().click();
  await page.goto(`${server.url}/docs/ops/blur`);
  t.match(await page.locator('.samples pre:visible').first().innerText(), /await fetch/);
  await page.close();
});

t.test('the search finds a page by its words, with the keyboard alone', async (t) => {
  const { page, wrong } = await openPage('');
  await page.keyboard.press('/');
  await page.keyboard.type('round corn');
  await page.waitForSelector('#found a');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/ops/round_corners');
  t.same(wrong, []);
  await page.close();
});

t.test('the form runs an op on a file of the reader, and says where the time went', async (t) => {
  await writeFile(join(reader.directory, 'mine.jpg'), reader.photo);
  const { page, wrong } = await openPage('ops/resize');
  const form = page.locator('form.trial');
  // A key that was copied with its scheme is taken as well.
  await form.locator('[name="key"]').fill(`Bearer ${reader.key}`);
  await form.locator('[name="file"]').setInputFiles(join(reader.directory, 'mine.jpg'));
  await form.locator('[data-parameter="width"]').fill('100');
  await form.locator('[data-parameter="height"]').fill('50');
  await form.getByRole('button', { name: 'Run' }).click();
  await form.getByAltText('After').waitFor();
  t.match(await form.locator('.status').innerText(), /^200: 100 × 50 px, .* of webp/);
  t.match(await form.locator('.timing').innerText(), /total\s+[\d.]+ ms/);
  t.same(wrong, [], 'also by the content policy');
  await form.locator('[data-parameter="width"]').fill('wide');
  await form.getByRole('button', { name: 'Run' }).click();
  await form.locator('.result pre').waitFor();
  t.match(await form.locator('.result pre').innerText(), /"param": "width"/);
  t.equal(await page.evaluate<string>('JSON.stringify(localStorage)'), '{}', 'the key is nowhere');
  await page.close();
});

t.test('the form of an op that runs in jobs uploads the file, and shows the result of the job', async (t) => {
  await writeFile(join(reader.directory, 'mine.jpg'), reader.photo);
  const { page, wrong } = await openPage('ops/upscale');
  const form = page.locator('form.trial');
  await form.locator('[name="key"]').fill(reader.key);
  await form.locator('[name="file"]').setInputFiles(join(reader.directory, 'mine.jpg'));
  await form.getByRole('button', { name: 'Run' }).click();
  await form.getByAltText('After').waitFor();
  const width = await form.getByAltText('After').evaluate((image) => Reflect.get(image, 'naturalWidth'));
  t.equal(width, 1_280, 'twice the width of the photo');
  t.same(wrong, []);
  await page.close();
});

t.test('the form of an endpoint fills its path, its query and its body', async (t) => {
  await writeFile(join(reader.directory, 'mine.jpg'), reader.photo);
  const run = async (path: string, fill: (form: Locator) => Promise<void>) => {
    const { page, wrong } = await openPage(path);
    const form = page.locator('form.trial');
    if (path !== 'listFonts') await form.locator('[name="key"]').fill(reader.key);
    await fill(form);
    await form.getByRole('button', { name: 'Run' }).click();
    await form.locator('.result .status').waitFor();
    const shown = await form.locator('.result').innerText();
    t.same(wrong, [], path);
    await page.close();
    return shown;
  };
  const nothing = async () => undefined;
  t.match(await run('listFonts', nothing), /^200[\s\S]*"family"/);
  const listed = await run('listAssets', (form) => form.locator('[data-parameter="perPage"]').fill('1'));
  t.match(listed, /^200[\s\S]*"perPage": 1/);
  const [asset = ''] = /ast_\w+/.exec(listed) ?? [];
  t.match(
    await run('getAsset', (form) => form.locator('[data-parameter="assetId"]').fill(asset)),
    new RegExp(`^200[\\s\\S]*"id": "${asset}"`),
  );
  const json = JSON.stringify({ op: 'flip', assetIds: [asset] });
  t.match(
    await run('createJob', async (form) => {
      await form.locator('[data-parameter="dryRun"]').selectOption('true');
      await form.locator('[name="json"]').fill(json);
    }),
    /^200[\s\S]*"totalItems": 1/,
  );
  const chosen = async (form: Locator) => {
    for (const file of await form.locator('[type="file"]').all())
      await file.setInputFiles(join(reader.directory, 'mine.jpg'));
  };
  t.match(await run('compareImage', chosen), /^200[\s\S]*"ssim": 1/);
  t.match(await run('transformImage', chosen), /^200: \d+ × \d+ px/);
});

t.test('the menu of a phone opens and closes by a key', async (t) => {
  const { page } = await openPage('ops/resize', { viewport: { width: 390, height: 800 } });
  const menu = page.locator('#menu');
  t.notOk(await menu.isVisible());
  await page.getByRole('button', { name: 'Menu' }).press('Enter');
  t.ok(await menu.isVisible());
  await page.keyboard.press('Escape');
  t.notOk(await menu.isVisible());
  await page.close();
});
