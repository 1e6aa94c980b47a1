// needs: server, browser
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright';
import t from 'tap';
import { findBrowser } from '../../../workers/render/executable.ts';
import { serve } from '../../support/loopback.ts';
import { until } from '../../support/whole-service.ts';
import { openDelivering } from './delivering.ts';

const PICTURES = 20;

const { server, account, assetId } = await openDelivering(t, { settings: { IMAGE_WAIT_MS: '60000' } });
const browser = await openBrowser();
t.teardown(() => browser.close());

async function openBrowser(): Promise<Browser> {
  const folder = join(tmpdir(), 'darkroom-test-browser');
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', folder);
  return chromium.launch({ executablePath: path, chromiumSandbox: false });
}

t.test('a page of twenty families is drawn, and a second load of it sends nothing', async (t) => {
  const links = Array.from({ length: PICTURES }, (_, index) => ({
    ...{ assetId, op: 'adjust', parameters: { hue: 1 + index }, widths: [50, 100, 200] },
    format: 'auto',
  }));
  const signed = await server.call('/delivery-links', { key: account.key, json: { links } });
  t.equal(signed.status, 200, JSON.stringify(signed.json));
  // All are in view of a reader who scrolls, and each is drawn 90 px wide.
  const elements = signed.json.data.links.map(({ html }: { html: string }) =>
    html.replace(' loading="lazy"', '').replace(/sizes="[^"]*"/, 'sizes="90px"'),
  );
  // A page of another origin, as a shop has it.
  const { url } = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><link rel="icon" href="data:,">${elements.join('')}`);
  });
  const sent = () => server.logged().split('"route":"/d/').length - 1;
  const page = await browser.newPage({ deviceScaleFactor: 2 });
  const wrong: string[] = [];
  page.on('response', (response) => response.status() >= 400 && wrong.push(response.url()));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  const shown = () =>
    page.evaluate<Array<[number, string]>>(
      '[...document.images].map((image) => [image.naturalWidth, image.currentSrc.split("/").at(-1)])',
    );

  await page.goto(url, { waitUntil: 'load' });
  const first = await shown();
  t.equal(first.length, PICTURES);
  // 90 px at a density of 2 are the rung of 200 px.
  t.same(new Set(first.map(([, name]) => name)), new Set(['200.auto']));
  t.ok(first.every(([width]) => width > 0));
  await until(() => sent() >= PICTURES);
  await page.goto('about:blank');
  await page.goto(url, { waitUntil: 'load' });
  t.same(await shown(), first);
  t.equal(sent(), PICTURES, 'the browser has all of them');
  t.same(wrong, []);
});
