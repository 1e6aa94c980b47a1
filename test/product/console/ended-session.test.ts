// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { AccountAdministration } from '../../../src/product/accounts/operator.ts';
import { AccountsStore } from '../../../src/product/accounts/store.ts';
import { openConsole } from '../../support/console.ts';
import type { TestAccount } from '../../support/harness.ts';

const console = await openConsole(t);
const { server, account } = console;
const { documents, coordination } = server.stores;
const store = new AccountsStore(documents);
const administration = new AccountAdministration({ store, coordination, now: () => new Date() });
const PRESET = { name: 'Small', steps: [{ op: 'resize', parameters: { width: 64 } }] };
/** More than the wrong credentials after which a network is refused. */
const ASSETS = 70;

type ConsolePage = Awaited<ReturnType<typeof console.page>>;

/** The calls of a page from now on, by the status of their answers. */
function statusesOf({ page }: ConsolePage): number[] {
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (response.url().includes('/api/v1/')) statuses.push(response.status());
  });
  return statuses;
}

async function signIn({ page }: ConsolePage, { email, password }: TestAccount): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).last().fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function picture(colour: string): Promise<Buffer> {
  return sharp({ create: { width: 8, height: 8, channels: 3, background: colour } })
    .png()
    .toBuffer();
}

t.test('a session that ended in the midst of many calls does not shut out its network', async (t) => {
  for (let asset = 0; asset < ASSETS; asset += 1) {
    // Equal files are one asset.
    const body = new Uint8Array(await picture(`rgb(0, 0, ${asset})`));
    await server.call('/assets/upload', { key: account.key, body, type: 'image/png' });
  }
  const opened = await console.page({ path: '/assets' });
  const { page, context } = opened;
  await page.getByText(`${ASSETS} assets`).first().waitFor();
  // The list is read page by page.
  for (let shown = 0; shown < ASSETS; shown = await page.locator('.tile').count())
    await page.locator('.tile').last().scrollIntoViewIfNeeded();
  await page.getByRole('button', { name: 'Choose all' }).click();
  await administration.changePassword(account.id, account.password);
  const statuses = statusesOf(opened);
  await page.getByRole('button', { name: 'Delete chosen' }).click();
  await page.getByRole('button', { name: `Delete ${ASSETS} assets` }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await page.getByText(/, stopped/).waitFor();
  t.ok(statuses.length <= 3, `${statuses.length} calls were made: ${statuses}`);
  await signIn(opened, account);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
  t.equal((await server.call('/assets', { key: account.key })).json.meta.total, ASSETS);
  await context.close();
});

t.test('an open list asks nothing while nobody is signed in, and goes on afterwards', async (t) => {
  const jobs = await console.page({ path: '/jobs' });
  await jobs.page.getByText('No jobs yet').waitFor();
  await administration.endSessions(account.id);
  await jobs.page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  const statuses = statusesOf(jobs);
  await jobs.page.clock.install();
  await jobs.page.clock.runFor(120_000);
  t.same(statuses, []);
  await signIn(jobs, account);
  await jobs.page.getByText('No jobs yet').waitFor();
  await jobs.context.close();
});

t.test('a sign-out of a session that was over already leaves nothing on the screen', async (t) => {
  const { page, context, wrong } = await console.page({ path: '/presets' });
  await page.getByRole('heading', { name: 'Presets' }).waitFor();
  await administration.endSessions(account.id);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Darkroom' }).waitFor();
  t.equal(await page.getByText(account.email).count(), 0);
  t.same(
    wrong.filter((line) => !line.includes('401')),
    [],
  );
  await context.close();
});

t.test('what one account left in a tab is not for the next one', async (t) => {
  const other = await server.account();
  for (const { key } of [account, other]) await server.call('/presets', { key, json: PRESET });
  const first = await console.page({ path: '/assets' });
  const { page, context } = first;
  const files = [{ name: 'of-the-first.png', mimeType: 'image/png', buffer: await picture('red') }];
  await page.getByLabel('Images to upload').setInputFiles(files);
  await page.getByText('All have ended').waitFor();
  await page.getByRole('link', { name: 'Playground' }).click();
  await page.getByRole('button', { name: 'Save as a preset' }).click();
  await page.getByLabel('Name').fill('Fresh');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Undo', exact: true }).last().waitFor();

  const second = { ...first, page: await context.newPage() };
  await second.page.goto(`${server.url}/console/presets`);
  await second.page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await signIn(second, other);
  await page.getByText(other.email).waitFor();
  t.equal(await page.locator('.toast').count(), 0, 'nothing of the first account can be undone');
  await page.getByRole('link', { name: 'Assets' }).click();
  await page.getByText('No assets yet').waitFor();
  t.equal(await page.getByText('of-the-first.png').count(), 0);
  await context.close();
});

t.test('a tab with a key signs out alone', async (t) => {
  const { page, context } = await console.page({ path: '/presets' });
  await page.getByRole('heading', { name: 'Presets' }).waitFor();
  const other = await server.account();
  const second = await context.newPage();
  const cookies = await context.cookies();
  await context.clearCookies();
  await second.goto(`${server.url}/console/presets`);
  await second.getByText('API key', { exact: true }).first().click();
  await second.getByLabel('API key').last().fill(other.key);
  await second.keyboard.press('Enter');
  await second.getByText(other.email).waitFor();
  await context.addCookies(cookies);
  await second.getByRole('button', { name: 'Sign out' }).click();
  await second.getByRole('heading', { name: 'Sign in to Darkroom' }).waitFor();
  t.equal(await page.getByRole('heading', { name: 'Your session has ended' }).count(), 0);
  t.equal(await page.getByText(account.email).count(), 1);
  await context.close();
});
