import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright';
import type { Test } from 'tap';
import { findBrowser } from '../../workers/render/executable.ts';
import { type ServerOptions, startServer, type TestAccount, type TestServer } from './harness.ts';

/** How long a page of a busy machine may take for anything. */
const PATIENCE_MS = 120_000;

interface PageOptions {
  /** Below /console, such as `/jobs`. */
  path?: string;
  width?: number;
  height?: number;
  colour?: 'light' | 'dark';
  /** Whose session the page has; null for none. Default: the account of the console. */
  account?: TestAccount | null;
}

/** A page of the console, in a browser context of its own. */
export interface ConsolePage {
  page: Page;
  context: BrowserContext;
  /** What the browser logged as an error, such as a violation of the page's policy. */
  wrong: string[];
}

/** A server and a browser that the tests of a file share. */
export class ConsoleUnderTest {
  readonly server: TestServer;
  readonly browser: Browser;
  readonly account: TestAccount;
  /** The calls of the interface that pages made, as `GET /api/v1/jobs`. */
  readonly calls = new Set<string>();

  constructor(server: TestServer, browser: Browser, account: TestAccount) {
    this.server = server;
    this.browser = browser;
    this.account = account;
  }

  /** Opens an address of the console. */
  async page(options: PageOptions = {}): Promise<ConsolePage> {
    const { path = '', width = 1_280, height = 800, colour = 'light', account = this.account } = options;
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: colour,
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(PATIENCE_MS);
    if (account !== null) await this.signIn(context, account);
    const page = await context.newPage();
    const wrong: string[] = [];
    page.on('request', (request) => {
      const { origin, pathname } = new URL(request.url());
      const isCall = request.url().startsWith(`${origin}/`) && !pathname.startsWith('/console');
      if (isCall) this.calls.add(`${request.method()} ${pathname}`);
    });
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    page.on('pageerror', (error) => wrong.push(String(error)));
    await page.goto(`${this.server.url}/console${path}`);
    return { page, context, wrong };
  }

  /** Gives a browser context the session of an account. @returns the token of the session. */
  async signIn(context: BrowserContext, { email, password }: TestAccount): Promise<string> {
    const { headers } = await this.server.call('/auth/cookie', {
      json: { email, password },
      headers: { 'x-console': '1' },
    });
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(headers.get('set-cookie') ?? '') ?? [];
    await context.addCookies([{ name, value, url: this.server.url, httpOnly: true, sameSite: 'Strict' }]);
    return value;
  }

  /** The calls that pages made and that the OpenAPI document does not have. */
  async undocumented(): Promise<string[]> {
    const { json } = await this.server.call('//openapi.json');
    const known = Object.entries(json.paths as Record<string, object>).flatMap(([path, methods]) => {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      return Object.keys(methods).map((method) => ({ method: method.toUpperCase(), pattern }));
    });
    return [...this.calls].filter((call) => {
      const [method, path = ''] = call.split(' ');
      return !known.some((one) => one.method === method && one.pattern.test(path));
    });
  }
}

/** Starts a server and a browser for the tests of a file. */
export async function openConsole(t: Test, options: ServerOptions = {}): Promise<ConsoleUnderTest> {
  const settings = { REQUESTS_PER_MINUTE: '100000', ...options.settings };
  const server = await startServer(t, { ...options, settings });
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', join(tmpdir(), 'darkroom-test-browser'));
  const browser = await chromium.launch({ executablePath: path, chromiumSandbox: false });
  t.teardown(() => browser.close());
  return new ConsoleUnderTest(server, browser, await server.account({ credits: 10_000 }));
}

/** The rules of the WCAG, to level AA. */
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];

/**
 * The serious faults of a page for people who use it by other means, as axe finds them.
 * @param rules names of sets of rules.
 */
export async function seriousFaults(page: Page, rules: string[] = WCAG): Promise<string[]> {
  // For a page without frames the legacy mode finds the same, in half of the time.
  const builder = new AxeBuilder({ page }).withTags(rules).options({ resultTypes: ['violations'] });
  const { violations } = await builder.setLegacyMode().analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** By how many pixels a page is wider than its window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
}
