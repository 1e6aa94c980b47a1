import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { AccountWorkerTime } from '../src/imaging/images/pools/work-history.ts';
import { Renders } from '../src/imaging/renders/renders.ts';
import { systemClock } from '../src/platform/clock.ts';
import { findBrowser } from '../workers/render/executable.ts';
import { median, percentile, round, type SuiteResult, type SuiteRow } from './suite.ts';

/** A renderer under test. `draw` returns the bytes of a PNG; `sender` is the index of the loop that calls it. */
interface TestedRenderer {
  draw(html: string, sender: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

const WIDTH = 1200;
const HEIGHT = 630;
const PAGES_IN_FLIGHT = [1, 2, 4];
const ROUNDS = 3;
const ROUND_MS = 4_000;
const CACHE_DIR = join(tmpdir(), 'darkroom-bench-browser');

const BASE_STYLE = 'margin:0;width:1200px;height:630px;font-family:sans-serif;color:#fff';
const text = (number: number) =>
  `<h1 style="font-size:64px">Card number ${number} and its title</h1><p style="font-size:32px;opacity:.8">A longer description, which wraps onto a second line of the card</p>`;

/** Typical share pictures: a flat one, and one with the two effects that cost most to draw. */
const CARD_PAGES: Record<string, (number: number) => string> = {
  flat: (number) =>
    `<!doctype html><body style="${BASE_STYLE};background:#123"><div style="padding:60px">${text(number)}<div style="position:absolute;right:60px;bottom:60px;width:160px;height:160px;border-radius:80px;background:#fc3"></div></div>`,
  'gradient and shadow': (number) =>
    `<!doctype html><body style="${BASE_STYLE};background:linear-gradient(135deg,#123,#48c)"><div style="padding:60px">${text(number)}<div style="position:absolute;right:60px;bottom:60px;width:160px;height:160px;border-radius:80px;background:#fc3;box-shadow:0 10px 40px #0008"></div></div>`,
};

/**
 * Measures renders per second through the render threads, compared with one warm page per call in flight driven by
 * Playwright, in turn in the same run.
 */
export async function run(): Promise<SuiteResult> {
  const rows: SuiteRow[] = [];
  for (const [card, html] of Object.entries(CARD_PAGES)) {
    for (const inFlight of PAGES_IN_FLIGHT) {
      const ours = await measure(() => renderThreads(), html, inFlight);
      const plain = await measure(() => warmPages(inFlight), html, inFlight);
      const ratio = round(ours.perSecond / plain.perSecond);
      rows.push({
        card,
        inFlight,
        ...columnsOf(ours),
        'plain/s': plain.perSecond,
        'plain p50': plain.p50Ms,
        ratio,
      });
    }
  }
  console.table(rows);
  return {
    method:
      'A card of 1200 × 630 as PNG, its text new each time: one render thread, compared with one warm page per call in flight ' +
      `(page.setContent, page.screenshot) in the same browser. Medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s, milliseconds.`,
    rows,
  };
}

interface RenderMeasurement {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  bytes: number;
}

function columnsOf({ perSecond, p50Ms, p99Ms, bytes }: RenderMeasurement): SuiteRow {
  return { 'renders/s': perSecond, p50: p50Ms, p99: p99Ms, bytes };
}

/**
 * Measures one renderer. Only one browser is open at a time, because an idle one would still hold memory and wake up.
 */
async function measure(
  open: () => Promise<TestedRenderer>,
  html: (number: number) => string,
  inFlight: number,
): Promise<RenderMeasurement> {
  const renderer = await open();
  let number = 0;
  let bytes = 0;
  await Promise.all(Array.from({ length: inFlight }, (_, sender) => renderer.draw(html(-1), sender)));
  const rates: number[] = [];
  const durationsMs: number[] = [];
  for (let index = 0; index < ROUNDS; index += 1) {
    const startedMs = performance.now();
    let drawn = 0;
    const senders = Array.from({ length: inFlight }, async (_, sender) => {
      while (performance.now() - startedMs < ROUND_MS) {
        const beforeMs = performance.now();
        bytes = (await renderer.draw(html(number++), sender)).byteLength;
        durationsMs.push(performance.now() - beforeMs);
        drawn += 1;
      }
    });
    await Promise.all(senders);
    rates.push((drawn * 1000) / (performance.now() - startedMs));
  }
  await renderer.close();
  return {
    perSecond: round(median(rates), 1),
    p50Ms: round(percentile(durationsMs, 0.5), 1),
    p99Ms: round(percentile(durationsMs, 0.99), 1),
    bytes,
  };
}

async function renderThreads(): Promise<TestedRenderer> {
  const renders = new Renders({
    threads: 1,
    queueLimit: 64,
    browserPath: process.env.BROWSER_PATH ?? '',
    cacheDir: CACHE_DIR,
    recycleAfterPages: 1_000,
    sandbox: 'auto',
    sandboxed: true,
    memoryLimitBytes: 2 ** 30,
    workerTime: new AccountWorkerTime({ clock: systemClock, budgetMs: () => 60_000 }),
    log: { info: () => {}, warn: console.warn, error: console.error },
  });
  return {
    async draw(html) {
      const deadlineMs = Date.now() + 20_000;
      const page = { html, width: WIDTH, height: HEIGHT, accountId: 'acc_bench', assets: {}, deadlineMs };
      return (await renders.begin(page).result).data;
    },
    close: () => renders.close(),
  };
}

async function warmPages(count: number): Promise<TestedRenderer> {
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', CACHE_DIR);
  const browser = await chromium.launch({ executablePath: path });
  const viewport = { width: WIDTH, height: HEIGHT };
  const pages = await Promise.all(Array.from({ length: count }, () => browser.newPage({ viewport })));
  return {
    async draw(html, sender) {
      const page = pages[sender];
      if (page === undefined) throw new Error(`There is no page ${sender}.`);
      await page.setContent(html);
      return page.screenshot({ type: 'png' });
    },
    close: () => browser.close(),
  };
}
