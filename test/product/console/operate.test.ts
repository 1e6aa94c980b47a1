// needs: server, browser, alone

import type { Page } from 'playwright';
import t from 'tap';
import { OperatorSessions } from '../../../src/host/operator/access.ts';
import { openConsole, overflowOf, seriousFaults } from '../../support/console.ts';
import { pretendHost } from '../../support/operated.ts';
import { SCRIPT_NAME, writeRuns } from './runs-folder.ts';

const TOKEN = 'a-token-of-an-operator-for-tests';
const SCRIPT = '<img src=x onerror=document.title="taken">';
const folder = t.testdir();
writeRuns(folder);
const screens = await openConsole(t, { settings: { OPERATOR_TOKEN: TOKEN, RESULTS_DIR: folder } });
const { server } = screens;
const host = await pretendHost(server.stores.coordination);

/** Opens a screen, and gives the token where it is asked for. */
async function openAsOperator(path: string, options: Parameters<typeof screens.page>[0] = {}) {
  const opened = await screens.page({ account: null, ...options, path });
  await opened.page.getByLabel('Token of the operator').fill(TOKEN);
  await opened.page.getByRole('button', { name: 'Open' }).click();
  await opened.page.getByLabel('Token of the operator').waitFor({ state: 'detached' });
  return opened;
}

const verdict = (page: Page) => page.locator('.verdict > p').first();

t.test('nothing is shown without the credential of the operator, not even to an account', async (t) => {
  for (const path of ['/operate', '/runs']) {
    const { page, context } = await screens.page({ path });
    await page.getByLabel('Token of the operator').waitFor();
    t.equal(await page.locator('.verdict, table').count(), 0);
    await page.getByLabel('Token of the operator').fill('wrong-wrong-wrong-wrong-wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('is not accepted').waitFor();
    await context.close();
  }
  const { page, context } = await screens.page({ path: '/presets' });
  await page.getByRole('link', { name: 'Presets' }).first().waitFor();
  t.equal(await page.getByRole('link', { name: 'Operate' }).count(), 0, 'and the menu has no word of it');
  await context.close();
});

t.test('a one-time link opens the screens, once, and leaves no trace in the address', async (t) => {
  const link = await new OperatorSessions(server.stores.coordination).createLink();
  const { page, context } = await screens.page({ account: null, path: `/operate#${link}` });
  await verdict(page).waitFor();
  t.equal(new URL(page.url()).hash, '');
  await page.reload();
  await verdict(page).waitFor();
  await context.close();
  const again = await screens.page({ account: null, path: `/operate#${link}` });
  await again.page.getByText('is not accepted').waitFor();
  await again.context.close();
});

t.test('the page says what is wrong, fixes it, and marks what was done', async (t) => {
  const before = host.row;
  host.row = { ...before, p99: 1_900, waitMs: 700, imageThreads: 1, processes: 1 };
  const { page, context } = await openAsOperator('/operate');
  await verdict(page).filter({ hasText: 'There is 1 image thread for 2 cores' }).waitFor();
  await page.getByRole('button', { name: 'Set IMAGE_THREADS=2' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Set IMAGE_THREADS=2' }).click();
  await page.getByText('IMAGE_THREADS 1 → 2').first().waitFor();
  t.match(host.given.at(-1), { kind: 'set', name: 'IMAGE_THREADS', value: 2, save: false });
  host.row = before;
  host.sample();
  await verdict(page).filter({ hasText: 'Nothing is slow' }).waitFor();

  host.row = { ...before, p99: 900, storeMs: 400, backgroundStoreShare: 0.92, jobItems: 80 };
  await verdict(page).filter({ hasText: 'Work in the background takes 92 % of their time' }).waitFor();
  await page.getByRole('button', { name: 'Set JOB_ITEMS=4' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Set JOB_ITEMS=4' }).click();
  await page.getByText('JOB_ITEMS 1000 → 4').first().waitFor();
  host.row = before;

  host.silent.add('2');
  await verdict(page).filter({ hasText: 'test-host/2 hangs' }).waitFor();
  await page.getByText('silent 7 s').waitFor();
  host.silent.clear();

  host.row = { ...before, disk: { freeBytes: 1_000_000, reservedBytes: 268_435_456 } };
  await verdict(page).filter({ hasText: 'DATA_DIR is full' }).waitFor();
  host.row = before;
  await context.close();
});

t.test(
  'settings, the log and processes are changed from the page, and a refusal keeps what was typed',
  async (t) => {
    const { page, context } = await openAsOperator('/operate');
    await page.locator('select[name=setting]').selectOption('IMAGE_WAIT_MS');
    await page.getByLabel(/^Value/).fill('1');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByText('50 to 60000').waitFor();
    t.equal(await page.getByLabel(/^Value/).inputValue(), '1');
    await page.getByLabel(/^Value/).fill('4000');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByText('IMAGE_WAIT_MS 5000 → 4000').first().waitFor();
    await page.locator('select[name=level]').selectOption('debug');
    await page.getByRole('button', { name: 'Change the level' }).click();
    await page.getByText('Log level debug').first().waitFor();
    t.match(host.given.at(-1), {
      kind: 'log',
      level: 'debug',
      forMs: 600_000,
      by: /operator's interface, from 127/,
    });
    await page.getByRole('button', { name: 'Replace process test-host/2' }).click();
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('The process test-host/2 is replaced').waitFor();
    t.match(host.given.at(-1), { kind: 'drain', hostId: 'test-host', processId: '2' });
    await context.close();
  },
);

t.test('what the doctor finds is shown with what fixes it', async (t) => {
  const { page, context } = await openAsOperator('/operate');
  const found = page.getByText(/examinations found nothing wrong/);
  const failed = page.getByRole('button', { name: 'Try again' });
  await found.or(failed).waitFor();
  // On a busy machine the doctor may not end within the time that it has.
  while (await failed.isVisible()) {
    await page.reload();
    await found.or(failed).waitFor();
  }
  t.ok((await page.locator('.findings > li').count()) > 0);
  await context.close();
});

t.test('texts of others are only texts', async (t) => {
  host.reporter.recordMark({ kind: 'set', by: SCRIPT, text: `${SCRIPT} is a setting` });
  const before = host.row;
  host.row = { ...before, accounts: [{ id: SCRIPT, calls: 40, refused: 39 }], refusals: { [SCRIPT]: 39 } };
  const { page, context, wrong } = await openAsOperator('/operate');
  await page.getByText(`${SCRIPT} is a setting`).first().waitFor();
  await verdict(page)
    .filter({ hasText: `The account ${SCRIPT} floods` })
    .waitFor();
  t.equal(await page.locator('img').count(), 0);
  host.row = before;
  await page.goto(`${server.url}/console/runs`);
  await page.getByText(SCRIPT).first().waitFor();
  const names = encodeURIComponent(encodeURIComponent(SCRIPT_NAME));
  await page.goto(`${server.url}/console/runs/compare?names=${names}`);
  await page.getByText('Repeat it').waitFor();
  t.equal(await page.locator('img').count(), 0);
  t.match(await page.title(), /Darkroom console/);
  t.same(
    wrong.filter((text) => !/401/.test(text)),
    [],
  );
  await context.close();
});

t.test('runs are listed, filtered and laid over each other, and the address holds the choice', async (t) => {
  const { page, context } = await openAsOperator('/runs');
  await page.getByRole('table', { name: 'Runs' }).waitFor();
  t.equal(await page.locator('tbody tr').count(), 5);
  await page.getByLabel('Kind').selectOption('load');
  await page.locator('tbody tr').nth(2).waitFor({ state: 'detached' });
  t.match(page.url(), /kind=load/);
  await page.getByLabel('Choose all rows').check();
  await page.getByRole('button', { name: 'Lay 2 over each other' }).click();
  await page.getByRole('heading', { name: '2 runs' }).waitFor();
  const differs = page.locator('section', { hasText: 'What differs around them' });
  t.match(await differs.locator('table').first().innerText(), /commit\s+98d45910\s+abc12345/);
  t.match(await differs.locator('table').first().innerText(), /IMAGE_THREADS\s+–\s+2/);
  t.match(await page.locator('table.figures').innerText(), /small · small\s+300\s+240\s+−20\.0 %/);
  await page.getByLabel('Measure').selectOption('p99 ms');
  await page.getByText('+25.0 %').first().waitFor();
  t.equal(await page.locator('svg.curves path').count(), 2);
  await page.getByText('npm run bench -- smoke').first().waitFor();
  const address = page.url();
  await page.reload();
  await page.getByText('+25.0 %').first().waitFor();
  t.equal(page.url(), address);
  for (const name of ['capacity-2026-01-04T00-00-00.json', 'smoke-against-2026-01-03T00-00-00.json']) {
    await page.goto(`${server.url}/console/runs/compare?names=${name}`);
    await page.locator('table.figures tbody tr').first().waitFor();
  }
  await page.getByText('1 of 2 rows worse.').waitFor();
  await context.close();
});

t.test('both screens are read by ear, at 320 px, on a wall, light and dark', async (t) => {
  for (const path of [
    '/operate',
    '/runs/compare?names=smoke-2026-01-01T00-00-00.json,smoke-2026-01-02T00-00-00.json',
  ]) {
    const { page, context } = await openAsOperator(path);
    await page.locator('table').first().waitFor();
    for (const [width, colorScheme] of [
      [320, 'light'],
      [1_280, 'dark'],
      [1_920, 'light'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      t.equal(await overflowOf(page), 0, `${path} at ${width} px`);
      t.same(await seriousFaults(page), [], `${path}, ${colorScheme}, ${width} px`);
    }
    await context.close();
  }
});

t.test('every call of the screens is in the document of the interface', async (t) => {
  const calls = await screens.undocumented();
  t.same(calls, []);
  t.ok(screens.calls.has('GET /operator/v1/state') && screens.calls.has('POST /operator/v1/settings'));
});
