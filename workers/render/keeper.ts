import { type Browser, BrowserStartError, startBrowser } from './browser.ts';
import { removeLeftoverBrowsers } from './browser-process.ts';
import { findBrowser } from './executable.ts';
import { BrowserPage, type CallAfter } from './page.ts';
import type { RenderNotice, RenderThreadOptions } from './protocol.ts';

/**
 * The largest number of warm pages in one browser, one per account. If it is exceeded, the least recently used page is
 * closed. A page is a process of 40 MB.
 */
const MAX_WARM_PAGES = 4;
/** The number of pages between two measurements of memory. Measuring a process group means reading all of /proc. */
const PAGES_BETWEEN_MEMORY_CHECKS = 20;
/**
 * A browser of at least this age is replaced at once when it dies. A younger one is replaced only when a page needs it,
 * so that a browser that cannot run causes no endless restarts.
 */
const MIN_AGE_FOR_REPLACEMENT_MS = 1_000;

/** The clock of the keeper. It is a parameter, because workers may not import the clock of src. */
export interface KeeperClock {
  /** Milliseconds of a clock that never goes back. */
  elapsedMs(): number;
  after: CallAfter;
}

const systemClock: KeeperClock = {
  elapsedMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** The browser holds more memory than it may. */
export interface MemoryExcess {
  limitBytes: number;
  /**
   * Whether the browser has drawn no page before this one. Otherwise earlier pages may still hold some of the memory.
   */
  isFirstPage: boolean;
}

interface RunningBrowser {
  browser: Browser;
  startedMs: number;
  /** Pages by account id, the least recently used first: a used page is inserted again. */
  pages: Map<string, BrowserPage>;
  drawn: number;
}

/**
 * Keeps one browser running, and gives each account a page of its own. A browser is replaced when it has died, has
 * drawn many pages, or holds too much memory.
 */
export class BrowserKeeper {
  readonly #options: RenderThreadOptions;
  readonly #notify: (notice: RenderNotice) => void;
  readonly #clock: KeeperClock;
  /** The browser that is starting or running. */
  #running: Promise<RunningBrowser> | undefined;
  /** The browser that has started and has not ended; undefined while it starts. */
  #live: RunningBrowser | undefined;
  /** Resolves when every browser that ever ran in this keeper is gone. */
  #gone: Promise<void> = Promise.resolve();
  #sandboxed = process.getuid?.() !== 0;
  #removedLeftovers = false;
  #stopped = false;

  constructor(
    options: RenderThreadOptions,
    notify: (notice: RenderNotice) => void,
    clock: KeeperClock = systemClock,
  ) {
    this.#options = options;
    this.#notify = notify;
    this.#clock = clock;
  }

  /**
   * Opens the account's page. The browser is started when none runs.
   * @throws NoBrowserError, BrowserStartError; any other error when the browser ends meanwhile.
   */
  async openPage(accountId: string): Promise<BrowserPage> {
    const { browser, pages } = await this.#currentBrowser();
    const warm = pages.get(accountId);
    const page = warm === undefined || warm.lost ? await BrowserPage.open(browser, this.#clock.after) : warm;
    pages.delete(accountId);
    pages.set(accountId, page);
    const [oldest] = pages;
    if (pages.size > MAX_WARM_PAGES && oldest !== undefined) {
      pages.delete(oldest[0]);
      await oldest[1].close();
    }
    return page;
  }

  /**
   * Starts the browser.
   * @throws NoBrowserError, BrowserStartError.
   */
  async warm(): Promise<void> {
    await this.#currentBrowser();
  }

  /** Counts a drawn page. Replaces the browser if it has drawn `recycleAfterPages` pages, or holds too much memory. */
  async recycleIfWorn(): Promise<void> {
    if (this.#live === undefined) return;
    this.#live.drawn += 1;
    const { drawn, browser } = this.#live;
    const isWorn = drawn >= this.#options.recycleAfterPages;
    const isMemoryCheckDue = drawn % PAGES_BETWEEN_MEMORY_CHECKS === 0;
    if (!isWorn && !(isMemoryCheckDue && browser.memoryBytes() > this.#options.memoryLimitBytes)) return;
    await this.kill();
    await this.warm();
  }

  /** Makes Linux end the processes of the running browser first when memory runs out. */
  preferForOomKill(): void {
    this.#live?.browser.preferForOomKill();
  }

  /**
   * The excess of the running browser over its memory limit; null when it is below the limit, or when the machine has
   * no /proc.
   */
  memoryExcess(): MemoryExcess | null {
    if (this.#live === undefined) return null;
    const { memoryLimitBytes } = this.#options;
    if (this.#live.browser.memoryBytes() <= memoryLimitBytes) return null;
    return { limitBytes: memoryLimitBytes, isFirstPage: this.#live.drawn === 0 };
  }

  /**
   * Kills the running browser, whatever it is doing, and starts another one. A browser that is still starting is not
   * killed.
   */
  async kill(): Promise<void> {
    this.#live?.browser.kill();
    await this.#gone;
  }

  /** Kills the browser and starts no other. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running?.catch(() => {});
    await this.kill();
  }

  async #currentBrowser(): Promise<RunningBrowser> {
    if (this.#stopped) throw new BrowserStartError('The renderer is stopping.');
    this.#running ??= this.#startBrowser();
    return this.#running;
  }

  #startBrowser(): Promise<RunningBrowser> {
    const starting = this.#launchBrowser();
    starting.then(
      (running) => {
        this.#live = running;
        this.#gone = this.#gone.then(() => running.browser.gone);
        running.browser.ended.then(() => this.#replaceBrowser(running));
      },
      (error: Error) => {
        this.#running = undefined;
        this.#notify({ level: 'error', message: `Renders are refused: ${error.message}` });
      },
    );
    return starting;
  }

  async #launchBrowser(): Promise<RunningBrowser> {
    if (!this.#removedLeftovers) await removeLeftoverBrowsers();
    this.#removedLeftovers = true;
    const executable = await findBrowser(this.#options.browserPath, this.#options.cacheDir);
    const browser = await this.#startWithRetry(executable);
    this.#notify({
      level: 'info',
      message: `Chromium ${browser.driver.version()} at ${executable} draws pages.`,
    });
    return { browser, startedMs: this.#clock.elapsedMs(), pages: new Map(), drawn: 0 };
  }

  /**
   * Starts a browser. If it crashes while it starts, it is started once more, because Chromium crashes in this way once
   * in thousands of starts.
   */
  async #startWithRetry(executable: string): Promise<Browser> {
    try {
      return await this.#startPreferringSandbox(executable);
    } catch (error) {
      if (!(error instanceof BrowserStartError && error.isCrash)) throw error;
      this.#notify({ level: 'warn', message: `The browser is started again: ${error.message}` });
      return this.#startPreferringSandbox(executable);
    }
  }

  /**
   * Starts a browser with Chromium's sandbox. If no sandbox is available and none is required, the browser starts
   * without one.
   */
  async #startPreferringSandbox(executable: string): Promise<Browser> {
    const { niceness, sandbox } = this.#options;
    if (!this.#sandboxed && sandbox === 'required')
      throw new BrowserStartError(noSandboxMessage('the service runs as root'));
    try {
      return await startBrowser(executable, { sandboxed: this.#sandboxed, niceness });
    } catch (error) {
      const lacksSandbox = this.#sandboxed && /sandbox|namespace/i.test((error as Error).message);
      if (!lacksSandbox) throw error;
      if (sandbox === 'required')
        throw new BrowserStartError(noSandboxMessage('the kernel grants no user namespaces'));
      this.#sandboxed = false;
      this.#notify({
        level: 'warn',
        message: 'The kernel grants no user namespaces: the browser runs without its sandbox.',
        unsandboxed: true,
      });
      return startBrowser(executable, { sandboxed: false, niceness });
    }
  }

  #replaceBrowser({ startedMs }: RunningBrowser): void {
    this.#live = undefined;
    this.#running = undefined;
    if (this.#clock.elapsedMs() - startedMs >= MIN_AGE_FOR_REPLACEMENT_MS)
      this.#currentBrowser().catch(() => {});
  }
}

function noSandboxMessage(reason: string): string {
  return `RENDER_SANDBOX is required, but ${reason}, so the browser has no sandbox.`;
}
