import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { createRenders } from '../src/imaging/renders/renders.ts';
import { findExecutable } from '../workers/render/executable.ts';
import { median, percentile, type Row, round, type SuiteResult } from './suite.ts';

/** One way of drawing a card, which returns the bytes of a PNG. */
interface Way {
  draw(html: string, pool: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

const WIDTH = 1200;
const HEIGHT = 630;
const IN_FLIGHT = [1, 2, 4];
const ROUNDS = 3;
const ROUND_MS = 4_000;
const CACHE_DIR = join(tmpdir(), 'darkroom-bench-browser');

const BASE = 'margin:0;width:1200px;height:630px;font-family:sans-serif;color:#fff';
const text = (turn: number) =>
  `<h1 style="font-size:64px">Card number ${turn} and its title</h1><p style="font-size:32px;opacity:.8">A longer description, which wraps onto a second line of the card</p>`;

/** Typical share pictures: a flat one, and one with the two effects that cost most to draw. */
const CARDS: Record<string, (turn: number) => string> = {
  flat: (turn) =>
    `<!doctype html><body style="${BASE};background:#123"><div style="padding:60px">${text(turn)}<div style="position:absolute;right:60px;bottom:60px;width:160px;height:160px;border-radius:80px;background:#fc3"></div></div>`,
  'gradient and shadow': (turn) =>
    `<!doctype html><body style="${BASE};background:linear-gradient(135deg,#123,#48c)"><div style="padding:60px">${text(turn)}<div style="position:absolute;right:60px;bottom:60px;width:160px;height:160px;border-radius:80px;background:#fc3;box-shadow:0 10px 40px #0008"></div></div>`,
};

/**
 * Measures renders per second through the render threads, beside a warm page per pool driven by Playwright, in turn in
 * the same run.
 */
export async function run(): Promise<SuiteResult> {
  const rows: Row[] = [];
  for (const [card, html] of Object.entries(CARDS)) {
    for (const inFlight of IN_FLIGHT) {
      const ours = await measure(() => renderThreads(), html, inFlight);
      const plain = await measure(() => warmPages(inFlight), html, inFlight);
      const ratio = round(ours.perSecond / plain.perSecond);
      rows.push({
        card,
        inFlight,
        ...told(ours),
        'plain/s': plain.perSecond,
        'plain p50': plain.p50Ms,
        ratio,
      });
    }
  }
  console.table(rows);
  return {
    method:
      'A card of 1200 × 630 as PNG, its text new each time: one render thread, beside one warm page per call in flight ' +
      `(page.setContent, page.screenshot) in the same browser. Medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s, milliseconds.`,
    rows,
  };
}

interface Measured {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  bytes: number;
}

function told({ perSecond, p50Ms, p99Ms, bytes }: Measured): Row {
  return { 'renders/s': perSecond, p50: p50Ms, p99: p99Ms, bytes };
}

/** Measures one way. Only one browser is open at a time, because an idle one would still hold memory and wake up. */
async function measure(
  open: () => Promise<Way>,
  html: (turn: number) => string,
  inFlight: number,
): Promise<Measured> {
  const way = await open();
  let turn = 0;
  let bytes = 0;
  await Promise.all(Array.from({ length: inFlight }, (_, pool) => way.draw(html(-1), pool)));
  const rates: number[] = [];
  const durationsMs: number[] = [];
  for (let index = 0; index < ROUNDS; index += 1) {
    const startedMs = performance.now();
    let drawn = 0;
    const pools = Array.from({ length: inFlight }, async (_, pool) => {
      while (performance.now() - startedMs < ROUND_MS) {
        const beforeMs = performance.now();
        bytes = (await way.draw(html(turn++), pool)).byteLength;
        durationsMs.push(performance.now() - beforeMs);
        drawn += 1;
      }
    });
    await Promise.all(pools);
    rates.push((drawn * 1000) / (performance.now() - startedMs));
  }
  await way.close();
  return {
    perSecond: round(median(rates), 1),
    p50Ms: round(percentile(durationsMs, 0.5), 1),
    p99Ms: round(percentile(durationsMs, 0.99), 1),
    bytes,
  };
}

async function renderThreads(): Promise<Way> {
  const renders = createRenders({
    threads: 1,
    queueLimit: 64,
    browserPath: process.env.BROWSER_PATH ?? '',
    cacheDir: CACHE_DIR,
    recycleAfterPages: 1_000,
    sandbox: 'auto',
    sandboxed: true,
    recycleAboveBytes: 2 ** 30,
    log: { info: () => {}, warn: console.warn, error: console.error },
  });
  return {
    async draw(html) {
      const deadlineMs = Date.now() + 20_000;
      const page = { html, width: WIDTH, height: HEIGHT, accountId: 'acc_bench', assets: {}, deadlineMs };
      return (await renders.render(page)).data;
    },
    close: () => renders.close(),
  };
}

async function warmPages(count: number): Promise<Way> {
  const { path } = await findExecutable(process.env.BROWSER_PATH ?? '', CACHE_DIR);
  const browser = await chromium.launch({ executablePath: path });
  const viewport = { width: WIDTH, height: HEIGHT };
  const pages = await Promise.all(Array.from({ length: count }, () => browser.newPage({ viewport })));
  return {
    async draw(html, pool) {
      const page = pages[pool];
      if (page === undefined) throw new Error(`There is no page ${pool}.`);
      await page.setContent(html);
      return page.screenshot({ type: 'png' });
    },
    close: () => browser.close(),
  };
}
