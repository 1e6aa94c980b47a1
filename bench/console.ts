import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium } from 'playwright';
import { findBrowser } from '../workers/render/executable.ts';
import { cpuMs } from './cpu.ts';
import { type BenchServer, startBenchServer } from './server.ts';
import { median, round, type SuiteResult, type SuiteRow } from './suite.ts';

const ROUNDS = 9;
const OPEN_PAGE_MS = 30_000;
const HOUR_MS = 3_600_000;
const CLOCK_STEP_MS = 2_000;
const OPERATOR_TOKEN_VALUE = 'a-token-of-an-operator-for-the-bench';
const CACHE_DIR = join(tmpdir(), 'darkroom-bench-browser');
/** Aims: milliseconds until a screen can be used, and per cent of a core for an open page of the operator. */
const MAX_INTERACTIVE_MS = 200;
const MAX_OPEN_PERCENT = 0.5;
/** A page with only a button and one script, with which the console is compared. */
const BARE_PAGE_HTML =
  '<!doctype html><html lang="en"><title>Bare</title><script type="module" src="/script.js"></script><body><main><button class="button">Use it</button></main></body></html>';
/**
 * A script that runs in the page. It records when the main button is drawn and can be pressed, and how long tasks
 * blocked the thread.
 */
const WATCH_SCRIPT = `
  globalThis.watched = { interactiveMs: null, longTasksMs: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.watched.longTasksMs += duration;
  }).observe({ type: 'longtask', buffered: true });
  const look = () => {
    if (document.querySelector('main .button:not(:disabled)') === null) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => { globalThis.watched.interactiveMs ??= performance.now(); }));
  };
  requestAnimationFrame(look);
`;
const LOADED_EXPRESSION = `JSON.stringify({
  ...globalThis.watched,
  bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  files: performance.getEntriesByType('resource').length + 1,
})`;

interface PageLoad {
  interactiveMs: number;
  longTasksMs: number;
  bytes: number;
  files: number;
}

/** Measures how soon a screen of the console can be used, compared with a bare page, and what an open page costs. */
export async function run(): Promise<SuiteResult> {
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', CACHE_DIR);
  await using browser = await chromium.launch({ executablePath: path, chromiumSandbox: false });
  await using server = await startBenchServer({ OPERATOR_TOKEN: OPERATOR_TOKEN_VALUE });
  using bare = await startBarePage();
  const [cold, warm] = await measureLoads(browser, server, bare.url);
  const percent = await openPagePercent(browser, server);
  const hour = await measurePolls(browser, server);
  const rows: SuiteRow[] = [
    cold,
    warm,
    { case: 'Operate, open', 'CPU % of a core': percent },
    {
      case: 'Operate, the polls of an hour',
      'CPU % of a core': round((100 * hour.cpuMs) / HOUR_MS),
      polls: hour.polls,
      'CPU ms a poll': round(hour.cpuMs / hour.polls),
    },
  ];
  console.table(rows);
  const late = Math.min(Number(cold['interactive ms']), Number(warm['interactive ms'])) > MAX_INTERACTIVE_MS;
  return {
    method: `The playground of a signed-in account in Chromium on this machine, beside a page of one button and one script on bare Node, in turn, medians of ${ROUNDS} loads: milliseconds from the navigation until the main button is drawn and the thread is free. Cold has an empty cache. An open page of the operator is watched for ${OPEN_PAGE_MS / 1_000} s, beside as long without one, and for an hour of its own clock, which passes as fast as its polls are answered; CPU is that of all processes of the service.`,
    rows,
    missed: [
      ...(late ? [`The first screen can be used after more than ${MAX_INTERACTIVE_MS} ms.`] : []),
      ...(percent > MAX_OPEN_PERCENT
        ? [`An open page costs more than ${MAX_OPEN_PERCENT} % of a core.`]
        : []),
    ],
  };
}

async function startBarePage(): Promise<{ url: string } & Disposable> {
  const server = createServer(({ url }, response) => {
    const isScript = url === '/script.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? 'document.title = "Ready";' : BARE_PAGE_HTML);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, [Symbol.dispose]: () => void server.close() };
}

/** Loads the first screen and the bare page alternately, first with an empty cache and then with a filled one. */
async function measureLoads(browser: Browser, server: BenchServer, bareUrl: string) {
  const pages = { ours: `${server.url}/console/playground`, bare: bareUrl };
  const cold: Record<keyof typeof pages, PageLoad[]> = { ours: [], bare: [] };
  const warm: Record<keyof typeof pages, PageLoad[]> = { ours: [], bare: [] };
  for (let number = 0; number <= ROUNDS; number += 1)
    for (const side of ['ours', 'bare'] as const) {
      const context = await browser.newContext();
      await context.addInitScript(WATCH_SCRIPT);
      if (side === 'ours') await signIn(context, server);
      const [first, second] = [await loadPage(context, pages[side]), await loadPage(context, pages[side])];
      // The first round is not counted, because some work is done only once.
      if (number > 0) {
        cold[side].push(first);
        warm[side].push(second);
      }
      await context.close();
    }
  return [rowOf('first screen, cold', cold), rowOf('first screen, warm', warm)] as const;
}

async function signIn(context: BrowserContext, { url }: BenchServer): Promise<void> {
  await context.request.post(`${url}/api/v1/auth/cookie`, {
    headers: { 'x-console': '1' },
    data: { email: 'owner@localhost', password: 'bench-password' },
  });
}

async function loadPage(context: BrowserContext, url: string): Promise<PageLoad> {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForLoadState('networkidle');
  // The content security policy of the page forbids `waitForFunction`, which runs text as a script.
  await page.locator('main .button:not(:disabled)').first().waitFor();
  const loaded = JSON.parse(await page.evaluate<string>(LOADED_EXPRESSION)) as PageLoad;
  await page.close();
  return loaded;
}

function rowOf(name: string, { ours, bare }: Record<'ours' | 'bare', PageLoad[]>): SuiteRow {
  const of = (loads: readonly PageLoad[], part: keyof PageLoad) => median(loads.map((one) => one[part]));
  return {
    case: name,
    'interactive ms': round(of(ours, 'interactiveMs'), 0),
    'bare ms': round(of(bare, 'interactiveMs'), 0),
    ratio: round(of(ours, 'interactiveMs') / of(bare, 'interactiveMs')),
    'long tasks ms': round(of(ours, 'longTasksMs'), 0),
    'kB compressed': round(of(ours, 'bytes') / 1_000, 1),
    files: of(ours, 'files'),
  };
}

/** What an open page of the operator costs the service, in per cent of a core. */
async function openPagePercent(browser: Browser, { url, pid }: BenchServer): Promise<number> {
  const spentMs = async () => {
    const beforeMs = cpuMs(pid);
    await pause(OPEN_PAGE_MS);
    return cpuMs(pid) - beforeMs;
  };
  const idleMs = await spentMs();
  const context = await operatorContext(browser, url);
  const page = await context.newPage();
  await page.goto(`${url}/console/operate`);
  // The doctor examines the host once, when the page is opened. The measurement begins after it.
  await page.getByText(/examinations found nothing wrong/).waitFor({ timeout: 120_000 });
  const openMs = await spentMs();
  await context.close();
  return round((100 * (openMs - idleMs)) / OPEN_PAGE_MS);
}

/**
 * Measures the polls of an operator's page in an hour, and the CPU that the service uses for them. The clock of the
 * page runs as fast as they are answered, because in real time the cost of a few polls is lost in that of heartbeats.
 * Two costs are not included: what a host does once in ten seconds while a page is open, and the higher cost of a poll
 * after idle seconds.
 */
async function measurePolls(
  browser: Browser,
  { url, pid }: BenchServer,
): Promise<{ polls: number; cpuMs: number }> {
  const idleFromMs = cpuMs(pid);
  await pause(OPEN_PAGE_MS);
  const idleShare = (cpuMs(pid) - idleFromMs) / OPEN_PAGE_MS;
  const context = await operatorContext(browser, url);
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${url}/console/operate`);
  // The doctor examines the host once, when the page is opened. The measurement begins after it.
  await page.getByText(/examinations found nothing wrong/).waitFor({ timeout: 120_000 });
  let polls = 0;
  let answering = Promise.resolve<unknown>(undefined);
  page.on('request', (request) => {
    if (!request.url().includes('/operator/v1/state')) return;
    polls += 1;
    answering = request.response().then((response) => response?.finished());
  });
  const [startedMs, fromMs] = [performance.now(), cpuMs(pid)];
  for (let passedMs = 0; passedMs < HOUR_MS; passedMs += CLOCK_STEP_MS) {
    await page.clock.runFor(CLOCK_STEP_MS);
    await answering;
  }
  const spentMs = cpuMs(pid) - fromMs - idleShare * (performance.now() - startedMs);
  await context.close();
  return { polls, cpuMs: Math.max(0, spentMs) };
}

/** A browser context with a session of the operator. */
async function operatorContext(browser: Browser, url: string): Promise<BrowserContext> {
  const context = await browser.newContext();
  await context.request.post(`${url}/operator/v1/session`, {
    headers: { 'x-console': '1' },
    data: { token: OPERATOR_TOKEN_VALUE },
  });
  return context;
}
