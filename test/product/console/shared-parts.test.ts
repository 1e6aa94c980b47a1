// needs: server, browser, alone
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { openConsole, overflowOf, seriousFaults } from '../../support/console.ts';
import { pretendHost } from '../../support/operated.ts';
import { eventually, LOOPBACK, register, startReceiver } from '../webhooks/receiver.ts';
import { writeRuns } from './runs-folder.ts';

const TOKEN = 'a-token-of-an-operator-for-tests';
const MAX_CALLS = 3;
const folder = t.testdir();
writeRuns(folder);
const settings = { ...LOOPBACK, OPERATOR_TOKEN: TOKEN, RESULTS_DIR: folder };
const screens = await openConsole(t, { settings });
const { server, account } = screens;
const { key } = account;
await pretendHost(server.stores.coordination);

async function opened(t: Test, path: string) {
  const { page, context, wrong } = await screens.page({ path });
  t.teardown(() => context.close());
  return { page, wrong };
}

async function stored(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const background = { r: 20 * index, g: 128, b: 128 };
    const square = { width: 6, height: 6, channels: 3, background } as const;
    const body = new Uint8Array(await sharp({ create: square }).png().toBuffer());
    const { json } = await server.call('/assets/upload?collection=bulk', { key, body, type: 'image/png' });
    ids.push(json.data.id);
  }
  return ids;
}

t.test('an act on many things is a few calls at a time, tells what failed, and can be stopped', async (t) => {
  const [refused = '', ...others] = await stored(12);
  const { page } = await opened(t, '/assets?collection=bulk');
  const held: Array<() => void> = [];
  let isHolding = false;
  await page.route('**/api/v1/assets/ast_*', async (route) => {
    if (route.request().method() !== 'DELETE') return route.continue();
    if (isHolding) await new Promise<void>((resolve) => held.push(resolve));
    if (!route.request().url().endsWith(refused)) return route.continue().catch(() => undefined);
    const error = { code: 'invalid_state', message: 'A template draws it.', retryable: false };
    return route.fulfill({ status: 400, json: { success: false, error } });
  });
  const tiles = page.getByRole('list', { name: 'Assets' }).getByRole('listitem');
  const removeChosen = async (count: number) => {
    await page.getByRole('button', { name: 'Delete chosen' }).click();
    await page.getByRole('button', { name: `Delete ${count} assets` }).click();
  };
  for (const id of [refused, ...others.slice(0, 5)])
    await page.getByLabel(`Choose ast_…${id.slice(-8)}`).check();
  await removeChosen(6);
  await page.getByText('6 of 6, done').waitFor();
  const panel = page.locator('.bulk');
  t.match(await panel.innerText(), new RegExp(`1 failed:[\\s\\S]*${refused}[\\s\\S]*A template draws it\\.`));
  await page.getByRole('button', { name: 'Close' }).click();
  await panel.waitFor({ state: 'detached' });

  isHolding = true;
  await page.getByRole('button', { name: 'Choose all' }).click();
  await removeChosen(7);
  await page.getByText('0 of 7').waitFor();
  await eventually(async () => held.length === MAX_CALLS);
  await page.getByRole('button', { name: 'Stop' }).click();
  for (const release of held) release();
  await page.getByText(/ of 7, stopped/).waitFor();
  t.equal(held.length, MAX_CALLS, 'no more began at a time');
  t.ok((await tiles.count()) >= 7 - MAX_CALLS, 'what had not begun is still there');
});

t.test('what fixes a refused call is made in the form by one press', async (t) => {
  const { page } = await opened(t, '/playground?steps=[{"op":"resize","parameters":{"widht":60}}]');
  await page.getByRole('button', { name: 'Use an example' }).click();
  await page.getByRole('alert').getByText('in the place of').waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.locator('.facts').getByText('60 × 45 px').first().waitFor();
  t.match(decodeURIComponent(page.url()), /"width":60/);

  const job = { op: 'resize', assetIds: await stored(1), parameters: { widht: 16 } };
  await page.goto(`${server.url}/console/jobs/new?${new URLSearchParams({ job: JSON.stringify(job) })}`);
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  t.equal(await page.locator('input[type=number][name=width]').first().inputValue(), '16');
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByRole('heading', { name: 'What it would cost' }).waitFor();
});

t.test(
  'of several mistakes those with a certain correction are applied, and the others are shown',
  async (t) => {
    const { page } = await opened(
      t,
      '/playground?steps=[{"op":"resize","parameters":{"widht":62,"fit":"banana"}}]',
    );
    await page.getByRole('button', { name: 'Use an example' }).click();
    await page.getByRole('alert').getByText('in the place of').waitFor();
    await page.getByRole('alert').getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL((url) => /"width":62/.test(decodeURIComponent(url.href)));
    t.match(await page.getByRole('alert').innerText(), /fit/, 'what is left is still refused');
  },
);

t.test('what is saved under a name is corrected in its dialog', async (t) => {
  const { page } = await opened(t, '/playground?steps=[{"op":"resize","parameters":{"widht":61}}]');
  await page.getByRole('button', { name: 'Save as a preset' }).click();
  const dialog = page.getByRole('dialog');
  const save = dialog.getByRole('button', { name: 'Save', exact: true });
  await dialog.getByLabel('Name').fill('Corrected in its dialog');
  await save.click();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByRole('alert').waitFor({ state: 'detached' });
  t.equal(await dialog.getByLabel('Name').inputValue(), 'Corrected in its dialog', 'what was typed is kept');
  await save.click();
  await page.waitForURL('**/console/presets/corrected-in-its-dialog');
  const { json } = await server.call('/presets/corrected-in-its-dialog', { key });
  t.same(json.data.steps, [{ op: 'resize', parameters: { width: 61 } }]);
});

t.test('what does the same as a refused call is taken over, or begun as a job', async (t) => {
  const { page } = await opened(t, '/playground?steps=[{"op":"resize","parameters":{"width":40}}]');
  const refusal = {
    ...{ code: 'provider_unavailable', message: 'It takes too long.', retryable: false },
    details: {
      instead: [{ parameters: { quality: 7 } }, { job: { op: 'resize', parameters: { width: 33 } } }],
    },
  };
  await page.route(/images\/transform(?!.*quality=7)/, (route) =>
    route.fulfill({ status: 503, json: { success: false, error: refusal } }),
  );
  await page.getByRole('button', { name: 'Use an example' }).click();
  const refused = page.getByRole('alert').filter({ hasText: 'It takes too long.' });
  await refused.getByRole('button', { name: 'Apply' }).click();
  await page.locator('.facts').getByText('40 × 30 px').first().waitFor();
  t.match(decodeURIComponent(page.url()), /"width":40,"quality":7/);

  const preset = { name: 'Refused', steps: [{ op: 'resize', parameters: { width: 50 } }] };
  const { slug } = (await server.call('/presets', { key, json: preset })).json.data;
  await page.goto(`${server.url}/console/playground?preset=${slug}`);
  await page.getByRole('button', { name: 'Use an example' }).click();
  await refused.getByRole('button', { name: 'Apply' }).click();
  await page.locator('.facts').getByText('50 × 38 px').first().waitFor();
  t.match(decodeURIComponent(page.url()), /steps=.*"width":50,"quality":7/, 'the preset stays as it is');

  await page.getByRole('button', { name: 'Undo' }).click();
  await refused.getByRole('link', { name: 'Do it as a job' }).click();
  await page.getByRole('heading', { name: 'New job' }).waitFor();
  t.equal(await page.locator('input[type=number][name=width]').first().inputValue(), '33');
});

t.test('the price of a run is a figure, by step where several cost', async (t) => {
  const { page } = await opened(t, '/playground');
  await page.getByRole('button', { name: 'Use an example' }).click();
  const price = page.locator('.facts > div', { hasText: 'Price' });
  await price.getByText('0 credits').waitFor();
  t.match(await price.innerText(), /1 run/);
  const steps = [
    { op: 'resize', parameters: { width: 200 } },
    { op: 'upscale', parameters: {} },
  ];
  const { json } = await server.call('/presets', { key, json: { name: 'Larger', steps } });
  const { credits } = (
    await server.call('/jobs?dryRun=true', { key, json: { presetId: json.data.slug, imageCount: 1 } })
  ).json.data;
  await page.goto(`${server.url}/console/playground?preset=${json.data.slug}`);
  await page.getByRole('button', { name: 'Use an example' }).click();
  await page.getByText(`${credits} credit`).first().waitFor();
  t.match(await page.locator('.prices').first().innerText(), /process\s+0 credits\s+upscale\s+\d+ credit/);
});

t.test('an address whose values have no meaning is told of, and the menu leads on', async (t) => {
  const { page } = await opened(t, '/usage?to=never');
  for (const path of [
    '/usage?to=never',
    '/usage?days=many',
    '/playground?steps=[null]',
    '/playground?steps={}',
  ]) {
    await page.goto(`${server.url}/console${path}`);
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  }
});

t.test(
  'a script in any saved field, in a file or in an answer of others is words on its screen',
  async (t) => {
    const attack = '"><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
    const body = new Uint8Array(
      await sharp({ create: { width: 6, height: 6, channels: 3, background: 'teal' } })
        .withExif({ IFD0: { ImageDescription: attack, Artist: attack } })
        .jpeg()
        .toBuffer(),
    );
    const upload = `/assets/upload?collection=${encodeURIComponent('<img src=x onerror=1>')}`;
    const asset = (await server.call(upload, { key, body, type: 'image/jpeg' })).json.data.id;
    const facts = { name: attack, description: attack };
    const page = { ...facts, html: `<h1 title="${attack}">{{ title }}</h1>`, width: 60, height: 30 };
    const template = (await server.call('/templates', { key, json: page })).json.data.id;
    await server.call(`/templates/${template}`, { key, method: 'PUT', json: { css: `/* ${attack} */` } });
    const steps = [{ op: 'resize', parameters: { width: 60, background: 'red' } }];
    const preset = (await server.call('/presets', { key, json: { ...facts, steps } })).json.data.slug;
    const receiver = await startReceiver(t, (response) => response.writeHead(500, attack).end(attack));
    const { id } = await register(server, account, receiver.url, { description: attack });
    const delivery = (await server.call(`/webhook-endpoints/${id}/test`, { key, method: 'POST' })).json.data
      .id;
    const headers = { 'user-agent': attack, 'x-request-id': 'javascript:globalThis.hit=1' };
    const words = encodeURIComponent(attack);
    const refused = await server.call(`/jobs/${words}?${words}=${words}`, { key, headers });
    const request = encodeURIComponent(refused.headers.get('x-request-id') ?? '');
    const { page: browser, wrong } = await opened(t, '/templates');
    for (const path of [
      ...['/templates', `/templates/${template}`, `/templates/${template}/versions`],
      ...[
        '/presets',
        `/presets/${preset}`,
        `/playground?preset=${preset}`,
        `/playground?template=${template}`,
      ],
      ...[`/playground?op=${words}`, `/assets?collection=${words}`, '/assets', `/assets/${asset}`],
      ...['/requests', '/requests?view=errors', `/requests/${request}`, `/webhooks/${id}/${delivery}`],
      ...[`/jobs?op=${words}`, `/jobs/new?job=${words}`, `/usage?view=${words}`, `/${words}`],
    ]) {
      await browser.goto(`${server.url}/console${path}`);
      await browser.locator('main h1').waitFor();
      await browser.waitForLoadState('networkidle').catch(() => undefined);
      t.equal(await browser.evaluate('globalThis.hit'), undefined, path);
      const made = browser.locator('main :is(script, img[src="x"], [onerror], a[href^="javascript:"])');
      t.equal(await made.count(), 0, path);
    }
    t.same(
      wrong.filter((text) => !/status of 4\d\d/.test(text)),
      [],
      'and the policy of the page had nothing to refuse',
    );
  },
);

t.test('a report with thousands of cases, facts and measures is shown, its first cases first', async (t) => {
  const many = (count: number, of: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`name ${index}`, of(index)]));
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ case: `case ${index}`, ...many(20, Number) }));
  const name = 'huge-2026-01-09T00-00-00.json';
  const report = { suite: 'huge', at: '2026-01-09T00:00:00.000Z', host: many(5_000, String) };
  await writeFile(
    join(folder, name),
    JSON.stringify({ ...report, rows: [...rows, many(3_000, Number)] }, null, 2),
  );
  const context = await screens.browser.newContext();
  t.teardown(() => context.close());
  const marked = { headers: { 'x-console': '1' }, data: { token: TOKEN } };
  await context.request.post(`${server.url}/operator/v1/session`, marked);
  const page = await context.newPage();
  for (const names of [name, `${name},smoke-2026-01-01T00-00-00.json`]) {
    await page.goto(`${server.url}/console/runs/compare?names=${names}`);
    await page.getByRole('button', { name: /^All 20/ }).waitFor();
    t.equal(await page.locator('table.figures tbody tr').count(), 60);
  }
  await rm(join(folder, name));
});

const SCREENS = [
  ...['/playground', '/templates', '/templates/builtin-template-social-card', '/presets'],
  ...['/presets/builtin-thumbnail-set', '/jobs', '/jobs/new', '/assets', '/webhooks', '/usage'],
  ...['/usage?view=ledger', '/usage?view=keys', '/requests', '/operate', '/runs'],
  '/runs/compare?names=smoke-2026-01-01T00-00-00.json,smoke-2026-01-02T00-00-00.json',
];

/** Texts that their box cuts without a sign: neither an ellipsis nor a way to scroll. */
const CUT = `[...document.querySelectorAll('main *, nav *')].filter((element) => {
  const { overflowX, textOverflow, position } = getComputedStyle(element);
  const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1;
  return isCut && overflowX === 'hidden' && textOverflow !== 'ellipsis' && position !== 'absolute' && element.innerText;
}).map((element) => element.outerHTML.slice(0, 120))`;

t.test('at a zoom of 200 % in a window of 1280 px, every screen fits, and nothing is cut', async (t) => {
  // A browser zooms a page by as many more pixels of the screen for each of its own.
  const context = await screens.browser.newContext({
    ...{ viewport: { width: 640, height: 400 }, deviceScaleFactor: 2, reducedMotion: 'reduce' },
  });
  t.teardown(() => context.close());
  await screens.signIn(context, account);
  const marked = { headers: { 'x-console': '1' } };
  await context.request.post(`${server.url}/operator/v1/session`, { ...marked, data: { token: TOKEN } });
  const page = await context.newPage();
  for (const [index, path] of SCREENS.entries()) {
    await page.emulateMedia({ colorScheme: index % 2 === 0 ? 'light' : 'dark' });
    await page.goto(`${server.url}/console${path}`);
    await page.locator('main h1').waitFor();
    await page.locator('.waiting').first().waitFor({ state: 'detached' });
    t.equal(await overflowOf(page), 0, path);
    t.same(await page.evaluate<string[]>(CUT), [], `${path}: nothing is cut`);
    t.same(await seriousFaults(page), [], path);
  }
});
