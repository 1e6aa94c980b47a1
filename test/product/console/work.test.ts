// needs: server, browser, alone
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { openConsole, overflowOf, seriousFaults } from '../../support/console.ts';
import { eventually, LOOPBACK, register, startReceiver } from '../webhooks/receiver.ts';
import { jobRow } from './job-row.ts';

const ATTACK = '"><img src=x onerror="globalThis.hit = true"><script>globalThis.hit = true</script>';
const console_ = await openConsole(t, { settings: { ...LOOPBACK, SWEEP_INTERVAL_MS: '500' } });
const { server, account } = console_;
const { key } = account;

/** A page that is closed with its test, and whose steps fail by their own time. */
async function opened(t: Test, path: string) {
  const { page, context, wrong } = await console_.page({ path });
  t.teardown(() => context.close());
  return { page, wrong };
}

async function picture(background: string, size = 300): Promise<Uint8Array<ArrayBuffer>> {
  const square = { width: size, height: size, channels: 3, background } as const;
  return new Uint8Array(await sharp({ create: square }).png().toBuffer());
}

async function stored(background: string, query = ''): Promise<string> {
  const body = await picture(background);
  const { json } = await server.call(`/assets/upload${query}`, { key, body, type: 'image/png' });
  return json.data.id;
}

async function submitted(json: object): Promise<string> {
  return (await server.call('/jobs', { key, json })).json.data.id;
}

t.test('jobs are filtered, opened, resumed and cancelled, one and all that the filter shows', async (t) => {
  const [red, blue] = [await stored('red'), await stored('blue')];
  const done = await submitted({ op: 'resize', assetIds: [red, blue], parameters: { width: 8 } });
  await server.call(`/jobs/${done}?wait=30`, { key });
  // A crop beyond a picture is known to fail only when the item runs.
  const failing = await submitted({ op: 'read_codes', assetIds: [red] });
  await server.call(`/jobs/${failing}?wait=30`, { key });
  const { page, wrong } = await opened(t, '/jobs?status=COMPLETED&op=resize');

  const rows = page.getByRole('table', { name: 'Jobs' }).locator('tbody tr:not(.gap)');
  await rows.first().waitFor();
  t.equal(await rows.count(), 1);
  t.match(await rows.first().textContent(), /resize.*completed.*2 of 2/s);
  await page.getByLabel('Status').selectOption('FAILED');
  await page.getByText('No job matches').waitFor();
  t.match(page.url(), /status=FAILED&op=resize/, 'the address holds the filters');
  await page.goBack();

  await page.goto(`${server.url}/console/jobs/${done}`);
  await page.getByRole('heading', { name: 'resize' }).waitFor();
  const thumb = page.getByRole('link', { name: 'Result of item 0' }).locator('img');
  await thumb.waitFor();
  t.match(await thumb.getAttribute('src'), /^blob:/);
  t.equal(await widthOf(thumb), 8);
  await page.getByText('all items completed').waitFor();

  // One job is cancelled while it runs, then all that the filter shows. A model's wait takes time and no CPU.
  const edit = { op: 'edit', model: 'sandbox-image', prompt: 'Warm [sandbox:wait=1000]' };
  const short = await submitted({ ...edit, assetIds: [red] });
  await server.call(`/jobs/${short}?wait=30`, { key });
  const long = { ...edit, assetIds: Array.from({ length: 100 }, () => red) };
  const running = [await submitted(long), await submitted(long), await submitted(long)];
  t.teardown(() =>
    Promise.all(running.map((id) => server.call(`/jobs/${id}/cancel`, { key, method: 'POST' }))),
  );
  await page.goto(`${server.url}/console/jobs/${running[0]}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  await page.goto(`${server.url}/console/jobs?op=edit`);
  await rows.first().waitFor();
  await page.getByRole('button', { name: 'Cancel all shown' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /Cancel 4 jobs/ })
    .click();
  await page.getByText('4 of 4, done').waitFor();
  for (const id of running)
    await eventually(
      async () => (await server.call(`/jobs/${id}`, { key })).json.data.status === 'CANCELLED',
    );
  t.equal((await server.call(`/jobs/${short}`, { key })).json.data.status, 'COMPLETED');

  // A resume is priced before it runs, and leads to its new job.
  await page.goto(`${server.url}/console/jobs/${running[1]}`);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page
    .getByRole('dialog', { name: /Resume \d+ items/ })
    .getByRole('button', { name: 'Resume' })
    .click();
  await page.getByText('The job is resumed as a new one.').waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  t.same(wrong, []);
});

t.test('a job is submitted as its dry run priced it', async (t) => {
  const asset = await stored('olive', '?collection=dry-run');
  const { page, wrong } = await opened(t, '/jobs/new?op=resize');
  const submit = page.getByRole('button', { name: 'Submit', exact: true });
  const dryRun = page.getByRole('button', { name: 'Dry run' });
  await page.getByLabel('Assets by their ids').fill(asset);
  await dryRun.click();
  await page.getByRole('alert').first().waitFor();
  t.match(await page.getByRole('alert').allTextContents(), /width/, 'the refusal says what is missing');
  t.equal(await page.getByLabel('Assets by their ids').inputValue(), asset, 'what was typed is kept');
  t.equal(await submit.isDisabled(), true);
  await page.getByLabel('width', { exact: false }).and(page.locator('[type=number]')).first().fill('16');
  await dryRun.click();
  await page.getByRole('heading', { name: 'What it would cost' }).waitFor();
  await page.getByLabel('Assets of a collection').selectOption('dry-run');
  t.equal(await submit.isDisabled(), true, 'a change takes a dry run of its own');
  await dryRun.click();
  await submit.click();
  await page.waitForURL(/\/console\/jobs\/job_/);
  await page.getByText('all items completed').waitFor();
  const refused = wrong.filter((line) => !/status of 400/.test(line));
  t.same(refused, []);
});

t.test('a list of a hundred thousand jobs scrolls, and draws the rows in view alone', async (t) => {
  const { page } = await opened(t, '/feedback');
  const total = 100_000;
  await page.route(/\/api\/v1\/jobs(\?|$)/, (route) => {
    const after = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
    const data = Array.from({ length: 100 }, (_, index) => jobRow(after + index));
    const next = after + 100;
    const meta = {
      ...(after === 0 && { total, page: 0 }),
      perPage: 100,
      hasMore: next < total,
      nextCursor: String(next),
    };
    return route.fulfill({
      json: { success: true, message: '', data, meta, timestamp: new Date().toISOString() },
    });
  });
  await page.goto(`${server.url}/console/jobs`);
  const box = page.getByRole('group', { name: /^Jobs, / });
  await box.waitFor();
  for (const target of [100, 300, 500]) {
    await eventually(async () => {
      await box.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
      return (await lastRow(box)) > target;
    });
    const drawn = await box.locator('tbody tr:not(.gap)').count();
    t.ok(drawn < 120, `${drawn} rows are drawn`);
  }
  t.equal(await box.getByRole('table').getAttribute('aria-rowcount'), String(total + 1));
});

type Locator = ReturnType<Awaited<ReturnType<typeof console_.page>>['page']['locator']>;

/** The width of the file of an image that is shown. */
function widthOf(image: Locator): Promise<number> {
  return image.evaluate((shown) => Number(Reflect.get(shown, 'naturalWidth')));
}

/** The index of the last row that is drawn. */
async function lastRow(box: Locator): Promise<number> {
  const rows = box.locator('tbody tr[aria-rowindex]');
  const last = await rows.last().getAttribute('aria-rowindex');
  return Number(last ?? 0);
}

t.test('an endpoint is registered and tested; what failed is read and sent again', async (t) => {
  let isBroken = true;
  const receiver = await startReceiver(t, (response) => response.writeHead(isBroken ? 500 : 204).end());
  const { page, wrong } = await opened(t, '/webhooks');
  await page.getByRole('button', { name: 'New endpoint' }).first().click();
  await page.getByLabel('Address').fill(receiver.url);
  await page.getByLabel('Description').fill('Orders');
  await page.getByRole('button', { name: 'Register' }).click();
  await page
    .getByRole('dialog', { name: 'Keep this secret' })
    .getByText(/^whsec_/)
    .waitFor();
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('The test failed: HTTP 500').waitFor();

  isBroken = false;
  const asset = await stored('orange');
  const job = await submitted({ op: 'resize', assetIds: [asset], parameters: { width: 4 } });
  await receiver.until(2);
  isBroken = true;
  await page.getByRole('link', { name: 'job.completed' }).first().click();
  await page.getByText(job).waitFor();
  await page.getByRole('button', { name: 'Resend', exact: true }).click();
  await page.getByRole('definition').getByText('HTTP 500', { exact: true }).waitFor();
  isBroken = false;
  await page.getByRole('link', { name: 'Deliveries of the endpoint' }).click();
  await page.getByText('Failed', { exact: true }).click();
  t.match(page.url(), /status=FAILED/);
  await page.getByRole('button', { name: 'Resend failed…' }).click();
  await page.getByRole('button', { name: 'Resend', exact: true }).click();
  await page.getByText('1, done').waitFor();
  const again = await receiver.until(4);
  t.equal(again.at(-1)?.event.data.jobId, job);
  t.same(wrong, []);
});

t.test('files are dropped, sent again after a cut connection, found by likeness and deleted', async (t) => {
  const { page } = await opened(t, '/assets?collection=dropped');
  await page.getByText('Drop images here').waitFor();
  const files = await Promise.all(
    ['crimson', 'crimson', 'navy'].map(async (colour, index) => ({
      name: `${colour}-${index}.png`,
      mimeType: 'image/png',
      buffer: Buffer.from(await picture(colour, 200 + index)),
    })),
  );
  // The connection breaks in the midst of the first attempt of the first file.
  let cuts = 1;
  await page.route('**/content?*', async (route) => {
    if (route.request().method() !== 'PUT' || cuts === 0) return route.continue();
    cuts -= 1;
    return route.abort('connectionreset');
  });
  await page.getByLabel('Images to upload').setInputFiles(files);
  await page.getByText('connection lost').waitFor();
  await page.getByText('All have ended').waitFor();
  t.equal(await page.locator('.upload').getByText('stored').count(), 3);
  const tiles = page.getByRole('list', { name: 'Assets' }).getByRole('listitem');
  await eventually(async () => (await tiles.count()) === 3);
  const image = tiles.first().locator('img');
  await image.waitFor();
  t.ok((await widthOf(image)) <= 256);

  await page.getByRole('link', { name: 'crimson-0.png' }).last().click();
  await page.getByRole('heading', { name: 'Near duplicates' }).waitFor();
  await page.getByRole('link', { name: 'crimson-1.png' }).waitFor();
  await page.getByRole('link', { name: 'Show all in the grid' }).click();
  t.match(page.url(), /similarTo=ast_/);

  await page.goto(`${server.url}/console/assets?collection=dropped`);
  await page.getByLabel('Choose crimson-0.png').check();
  await page.getByLabel('Choose navy-2.png').check();
  await page.getByRole('button', { name: 'Delete chosen' }).click();
  await page.getByRole('button', { name: 'Delete 2 assets' }).click();
  await page.getByText('2 of 2, done').waitFor();
  await eventually(async () => (await tiles.count()) === 1);
  const left = await server.call('/assets?collection=dropped', { key });
  t.same(
    left.json.data.map(({ name }: { name: string }) => name),
    ['crimson-1.png'],
  );
});

t.test('usage is drawn; a key is issued and revoked; a session is ended', async (t) => {
  const job = await submitted({ op: 'resize', assetIds: [await stored('plum')], parameters: { width: 4 } });
  await server.call(`/jobs/${job}?wait=30`, { key });
  const { page, wrong } = await opened(t, '/usage');
  await page.getByRole('heading', { name: 'Runs by day (UTC)' }).waitFor();
  await page.getByRole('table', { name: 'Usage by op' }).getByText('resize').waitFor();
  await page.getByRole('table', { name: 'Usage by key' }).getByText('test key').waitFor();
  await page.getByText('Credits', { exact: true }).first().click();
  await page.getByText('grant').waitFor();

  await page.getByText('API keys', { exact: true }).click();
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('Shop');
  await page.keyboard.press('Enter');
  const issued = await page
    .getByRole('dialog')
    .getByText(/^drk_\w{40}$/)
    .textContent();
  t.equal((await server.call('/account', { key: issued ?? '' })).status, 200);
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await page.getByRole('button', { name: 'Revoke Shop' }).click();
  await page.getByRole('button', { name: 'Revoke the key' }).click();
  await page.getByText('The key is revoked.').waitFor();
  t.equal((await server.call('/account', { key: issued ?? '' })).status, 401);

  const { email, password } = account;
  const other = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
  await page.getByText('Sessions', { exact: true }).click();
  await page.getByText('this one').waitFor();
  const end = page.getByRole('button', { name: 'End', exact: true });
  await end.first().click();
  await page.getByRole('button', { name: 'End the session' }).click();
  await page.getByText('The session is over.').waitFor();
  t.equal((await server.call('/account', { session: other })).status, 401);
  t.same(wrong, []);
});

t.test('the requests of an account, their errors with the fix, and none of another account', async (t) => {
  const stranger = await server.account();
  const foreign = { 'x-request-id': 'foreign-call' };
  await server.call('/jobs/job_foreign', { key: stranger.key, headers: foreign });
  const image = { body: await picture('teal'), type: 'image/png', key };
  await server.call('/images/transform?op=resize&widht=9', {
    ...image,
    headers: { 'x-request-id': 'typo-1' },
  });
  const { page, wrong } = await opened(t, '/requests?status=400');
  await page.getByRole('table', { name: 'Calls' }).getByText('widht=9').first().click();
  await page.getByRole('heading', { name: 'Why it was refused' }).waitFor();
  await page.getByText('in the place of').waitFor();
  const curl = await page.getByRole('group', { name: 'curl' }).textContent();
  t.match(curl, /^curl -X POST 'http.*widht=9' \\\n {2}-H "Authorization: ApiKey \$KEY"/);
  await page.getByRole('link', { name: 'Requests', exact: true }).first().click();
  await page.getByText('Errors by cause').click();
  const cause = page.getByRole('article').filter({ hasText: 'widht' });
  await cause.getByText('in the place of').waitFor();
  await page.goto(`${server.url}/console/requests?requestId=foreign-call`);
  await page.getByText('No call of the last hour matches').waitFor();
  await page.goto(`${server.url}/console/requests/foreign-call`);
  await page.getByText('No recent request of this account').waitFor();
  t.same(
    wrong.filter((line) => !/status of 404/.test(line)),
    [],
  );
});

const SCREENS = ['/jobs', '/jobs/new', '/webhooks', '/assets', '/usage', '/usage?view=keys', '/requests'];

t.test('stored scripts are words, whatever field they stand in', async (t) => {
  const text = encodeURIComponent(ATTACK);
  const asset = await stored(
    'tomato',
    `?name=${text}&collection=${encodeURIComponent('<img src=x onerror=1>')}`,
  );
  const job = await submitted({ op: 'generate', prompt: ATTACK, collection: '<script>1</script>' });
  const endpoint = await register(server, account, 'http://127.0.0.1:9/hook', { description: ATTACK });
  await server.call('/api-keys', { key });
  const session = (
    await server.call('/auth/sign-in', { json: { email: account.email, password: account.password } })
  ).json.data.token;
  await server.call('/api-keys', { session, json: { name: ATTACK.slice(0, 100) } });
  await server.call(`/images/transform?op=${text}`, { key, method: 'POST' });
  await server.call('/images/transform', { key, json: { op: ATTACK, url: ATTACK } });
  const { page, wrong } = await opened(t, '/jobs');
  const details = [`/assets/${asset}`, `/jobs/${job}`, `/webhooks/${endpoint.id}`, '/requests?view=errors'];
  for (const path of [...SCREENS, ...details]) {
    await page.goto(`${server.url}/console${path}`);
    await page.locator('main h1').waitFor();
    await page.waitForLoadState('networkidle').catch(() => undefined);
    t.equal(await page.evaluate('globalThis.hit'), undefined, path);
    t.equal(await page.locator('img[src="x"], main script').count(), 0, path);
  }
  t.same(wrong, [], 'and the policy of the page had nothing to refuse');
});

t.test(
  'axe finds nothing serious, light and dark, in a window of 320 px too; all calls are documented',
  async (t) => {
    for (const [colour, width] of [
      ['light', 320],
      ['dark', 1_280],
    ] as const) {
      const { page, context } = await console_.page({ path: SCREENS[0] ?? '', colour, width });
      for (const path of SCREENS) {
        await page.goto(`${server.url}/console${path}`);
        await page.locator('main h1').waitFor();
        await page.locator('.waiting').first().waitFor({ state: 'detached' });
        t.same(await seriousFaults(page), [], `${path} ${colour} ${width}`);
        t.equal(await overflowOf(page), 0, `${path} ${colour} ${width} fits its window`);
      }
      await context.close();
    }
    t.same(await console_.undocumented(), []);
  },
);

t.test('a whole task by the keyboard alone: a job is found, opened and read', async (t) => {
  const { page } = await opened(t, '/jobs?op=resize');
  const box = page.getByRole('group', { name: /^Jobs, / });
  await box.waitFor();
  await page.keyboard.press('/');
  t.equal(await page.evaluate('document.activeElement.placeholder'), 'job_… opens it');
  await page.keyboard.press('Escape');
  await box.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/console\/jobs\/job_/);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('hold the list').waitFor();
});
