// needs: server, browser
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright';
import sharp, { type Metadata, type Sharp } from 'sharp';
import t from 'tap';
import { openConsole, overflowOf, seriousFaults } from '../../support/console.ts';

const console = await openConsole(t);
const { server, account } = console;
const { key } = account;
const photo = join(tmpdir(), `darkroom-console-${process.pid}.png`);
await writeFile(photo, await gradient().png().toBuffer());

/** 1,200 x 800 px, red at the left and blue at the right. */
function gradient(): Sharp {
  const [width, height] = [1200, 800];
  const row = Array.from({ length: width }, (_, x) => [255 * (1 - x / width), 0, 255 * (x / width)]).flat();
  const data = Buffer.from(Array.from({ length: height }, () => row).flat());
  return sharp(data, { raw: { width, height, channels: 3 } });
}

/** The last result of the playground, as a reader saves it. */
async function resultOf(page: Page): Promise<Metadata> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  return sharp(await download.path()).metadata();
}

/** Waits for a title of the screen, which is text whatever it says. */
async function title(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

async function drop(page: Page): Promise<void> {
  await page.getByLabel('Picture', { exact: true }).setInputFiles(photo);
}

const fact = (page: Page, name: string) => page.locator('.facts > div', { hasText: name }).first();

t.test('a picture goes through an op at each change, and the same call is there to copy', async (t) => {
  const { page, context, wrong } = await console.page({ path: '/playground' });
  await page.getByText('Drop a picture here').waitFor();
  await drop(page);
  await page.getByRole('spinbutton', { name: 'width', exact: true }).fill('60');
  await fact(page, '60 × 40 px').waitFor();
  t.match(await resultOf(page), { width: 60, height: 40, format: 'webp' });
  t.match(await page.locator('.timing').innerText(), /decode[\s\S]*ms/);
  t.match(page.url(), /steps=.*60/, 'the address holds it');

  const code = page.getByRole('group', { name: 'curl' });
  t.match(await code.innerText(), /images\/transform\?op=resize&width=60&format=webp/);
  for (const [language, says] of [
    ['TypeScript', /op: 'resize'/],
    ['Python', /"op": "resize"/],
    ['Command line', /darkroom transform photo.jpg --op resize/],
    ['MCP', /"name": "run"/],
  ] as const) {
    await page.locator('.code .tabs').getByText(language, { exact: true }).click();
    t.match(await page.getByRole('group', { name: language }).innerText(), says);
  }
  t.same(wrong, []);
  await context.close();
});

t.test('the call to copy sends a step that reads a second picture as a step, not as an op', async (t) => {
  const steps = [{ op: 'overlay', parameters: { layerAssetId: 'ast_000000000000000000000001' } }];
  const path = `/playground?steps=${encodeURIComponent(JSON.stringify(steps))}`;
  const { page, context } = await console.page({ path });
  for (const [language, says] of [
    ['curl', /-F 'steps=\[\{"op":"overlay","parameters":\{"layerAssetId"/],
    ['Command line', /--steps '\[\{"op":"overlay"/],
  ] as const) {
    await page.locator('.code .tabs').getByText(language, { exact: true }).click();
    t.match(await page.getByRole('group', { name: language }).innerText(), says);
  }
  await context.close();
});

t.test('steps are added, taken back, and saved as a preset', async (t) => {
  const { page, context, wrong } = await console.page({ path: '/playground' });
  await drop(page);
  await page.getByRole('button', { name: 'Add a step' }).click();
  await page.locator('.step-form select').first().selectOption('rotate');
  await page.getByRole('spinbutton', { name: 'angle' }).fill('90');
  await fact(page, '400 × 600 px').waitFor();
  await page.getByRole('spinbutton', { name: 'angle' }).fill('180');
  await fact(page, '600 × 400 px').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await fact(page, '400 × 600 px').waitFor();
  await page.getByRole('button', { name: 'Save as a preset' }).click();
  await page.getByLabel('Name').fill('<img src=x onerror=alert(1)>');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL('**/console/presets/*');
  await title(page, '<img src=x onerror=alert(1)>');
  t.equal(await page.locator('main img').count(), 0, 'a name is text');
  t.equal(await page.locator('.step-cards > li').count(), 2);
  const { json } = await server.call('/presets?filter=user', { key });
  t.equal(json.data[0].steps[0].op, 'resize');

  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('spinbutton', { name: 'width', exact: true }).fill('77');
  await page.getByRole('button', { name: 'Save a new version' }).click();
  await page.getByText('Version 2 is saved.').waitFor();
  await page.getByLabel('Beside').selectOption('1');
  t.match(await page.locator('.side-by-side').innerText(), /Version 1[\s\S]*600[\s\S]*Version 2[\s\S]*77/);
  t.equal(await page.locator('.side-by-side .differs').count(), 2, 'the width differs on both sides');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the preset' }).click();
  await page.waitForURL('**/console/presets');
  t.equal((await server.call('/presets?filter=user', { key })).json.data.length, 0);
  t.same(wrong, []);
  await context.close();
});

t.test('several results are made of one picture, and one that cannot be made says why', async (t) => {
  const { page, context } = await console.page({ path: '/playground' });
  await drop(page);
  await page.getByLabel('Make several results').check();
  const results = page.getByRole('radiogroup', { name: 'Results' });
  await results.getByText('small').waitFor();
  await results.getByText('large').click();
  t.match(await resultOf(page), { width: 960 });
  await page.getByLabel('Name of result 2').fill('small');
  t.match(await page.getByRole('alert').first().innerText(), /invalid_param/);
  await context.close();
});

t.test('a refusal stands at its field and keeps the values; a result of the sandbox is marked', async (t) => {
  const { page, context } = await console.page({ path: '/playground' });
  await drop(page);
  const width = page.getByRole('spinbutton', { name: 'width', exact: true });
  await width.fill('99999');
  t.match(await page.locator('.field.wrong').innerText(), /width/);
  t.equal(await width.inputValue(), '99999');
  await page.getByLabel('What to do').selectOption('op:edit');
  await page.getByRole('textbox', { name: 'prompt', exact: true }).fill('make it blue');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('A model of the sandbox made this').waitFor();
  await context.close();
});

t.test('a template is written, drawn while it is typed, saved, and its versions compared', async (t) => {
  const { page, context, wrong } = await console.page({ path: '/templates/new' });
  const drawn = page.locator('.preview-picture img');
  await drawn.waitFor();
  await page.getByLabel('HTML', { exact: true }).last().fill('<h1>{{ title }}</h1><p>{{ missing }}</p>');
  await page.getByText('empty_variable: missing').waitFor();
  await page.getByLabel('missing').fill('here');
  await page.getByText('empty_variable: missing').waitFor({ state: 'detached' });
  await page.getByText('Name and size').click();
  await page.getByLabel('Name', { exact: true }).fill('"><script>alert(1)</script>');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(/\/templates\/tpl_/);
  await title(page, '"><script>alert(1)</script>');
  await page.getByText('CSS', { exact: true }).first().click();
  await page.getByLabel('CSS', { exact: true }).last().fill('h1 { color: #0f0 }');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Version 2 is saved.').waitFor();
  await page.getByRole('link', { name: 'Versions' }).click();
  t.match(await page.locator('.difference').innerText(), /\+ h1 \{ color: #0f0 \}/);
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByText('Version 1 is back, as version 3.').waitFor();
  t.same(wrong, []);
  await context.close();
});

t.test('a lost connection is told, and the work goes on when it is back', async (t) => {
  const { page, context } = await console.page({ path: '/playground' });
  await drop(page);
  await page.getByRole('link', { name: 'Download' }).waitFor();
  await context.setOffline(true);
  const width = page.getByRole('spinbutton', { name: 'width', exact: true });
  await width.fill('50');
  await page.getByText('The service cannot be reached').waitFor();
  t.equal(await width.inputValue(), '50');
  await context.setOffline(false);
  await page.getByText('The service cannot be reached').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await fact(page, '50 × 33 px').waitFor();
  await context.close();
});

t.test('a whole task is done by the keyboard alone', async (t) => {
  const { page, context } = await console.page({ path: '/presets' });
  await page.getByRole('heading', { name: 'Presets' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('thumb');
  await page.waitForURL('**search=thumb');
  await page.getByRole('group', { name: /^Presets/ }).focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/console/presets/*');
  await page.getByRole('link', { name: 'Try it' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/playground?preset=*');
  await page.getByRole('button', { name: 'Use an example' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Download' }).waitFor();
  t.pass('a preset was found, opened and tried');
  await context.close();
});

t.test('on a phone the result stands above its form and stays in view, and filters are folded', async (t) => {
  const { page, context } = await console.page({ path: '/playground', width: 390, height: 800 });
  const topOf = async (selector: string) => (await page.locator(selector).first().boundingBox())?.y ?? -1;
  await drop(page);
  await page.locator('.comparison').waitFor();
  t.ok((await topOf('.comparison')) < (await topOf('.steps')));
  await page.locator('.step-form select').last().scrollIntoViewIfNeeded();
  const top = await topOf('.comparison');
  t.ok(top >= 50 && top < 100, `${top} px below the top of the window`);

  await page.goto(`${server.url}/console/jobs`);
  await title(page, 'Jobs');
  t.ok((await topOf('main h1')) < 100, 'the title stands below the bar of the menu');
  const status = page.getByLabel('Status');
  t.equal(await status.isVisible(), false);
  await page.getByRole('button', { name: 'Filters' }).click();
  await status.selectOption('FAILED');
  await page.getByRole('button', { name: 'Filters: 1 set' }).waitFor();
  t.equal(await overflowOf(page), 0);
  await context.close();
});

t.test('no screen has a serious fault, or is wider than the window', async (t) => {
  for (const [path, ready] of [
    ['/sign-in', 'Sign in to Darkroom'],
    ['/playground', 'Drop a picture here'],
    ['/templates', 'Templates'],
    ['/templates/builtin-template-social-card', 'A row to try'],
    ['/presets', 'Presets'],
  ] as const) {
    const { page, context } = await console.page({ path, ...(path === '/sign-in' && { account: null }) });
    await page.getByText(ready).last().waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    t.same(await seriousFaults(page), [], `${path}, wide and dark`);
    // A window of 640 px at 200 % has the room of 320 px.
    await page.setViewportSize({ width: 320, height: 640 });
    await page.emulateMedia({ colorScheme: 'light' });
    t.equal(await overflowOf(page), 0, `${path} at 320 px`);
    t.same(await seriousFaults(page), [], `${path} at 320 px, light`);
    await context.close();
  }
});

t.test('every call that these screens made is in the OpenAPI document', async (t) => {
  t.ok(console.calls.size > 8);
  t.same(await console.undocumented(), []);
});
