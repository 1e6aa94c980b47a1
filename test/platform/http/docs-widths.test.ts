// needs: server, browser
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright';
import t from 'tap';
import { findExecutable } from '../../../workers/render/executable.ts';
import { startServer } from '../../support/harness.ts';

/** Narrower than this, a sentence breaks after each word. */
const MIN_SENTENCE_PX = 200;

t.test(
  '/docs can be read on a phone: headings keep their sentences, and nothing runs out of the page',
  async (t) => {
    const server = await startServer(t);
    const { path } = await findExecutable(
      process.env.BROWSER_PATH ?? '',
      join(tmpdir(), 'darkroom-test-browser'),
    );
    const browser = await chromium.launch({ executablePath: path, chromiumSandbox: false });
    t.teardown(() => browser.close());
    for (const width of [390, 1_280]) {
      const page = await browser.newPage({ viewport: { width, height: 800 } });
      const missing: string[] = [];
      page.on('response', (response) => response.status() >= 400 && missing.push(response.url()));
      await page.goto(`${server.url}/docs/`);
      await page.waitForSelector('.opblock-tag small');
      const widths = await page.$$eval('.opblock-tag small', (all) =>
        all.map((one) => one.getBoundingClientRect().width),
      );
      t.ok(
        widths.length > 10 && Math.min(...widths) >= MIN_SENTENCE_PX,
        `${width} px: ${Math.min(...widths)}`,
      );
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
      t.ok(over <= 0, `${width} px: ${over} px run out of the page`);
      t.match(await page.title(), /^Darkroom API/);
      t.same(missing, [], 'favicon, styles and scripts are there');
      await page.close();
    }
  },
);
