import type { RenderTask } from '../protocol.ts';
import { BrowserGoneError, type Connection, type Session } from './cdp.ts';
import {
  type Allowance,
  assetHeaders,
  decide,
  leavesTraces,
  SHELL_HEADERS,
  shellUrl,
  withAssetUrls,
} from './policy.ts';

/** The document did not finish loading, and the browser is not the cause. */
export class LoadError extends Error {
  override readonly name = 'LoadError';
}

type Drawing = Pick<RenderTask, 'html' | 'width' | 'height' | 'assets'>;

/** A page that waits this long for its next drawing is emptied, so that nothing of the last one runs on. */
const REST_AFTER_MS = 100;

/**
 * The load event waits for images but not for fonts, which are asked for when text is first laid out. A page is drawn from
 * its top, wherever a focused element or the page before it had scrolled to.
 */
const SETTLE = "scrollTo({ top: 0, left: 0, behavior: 'instant' }); document.fonts.ready.then(() => {})";

/**
 * A warm page in a browser context of its own: no cookie, cache or process is shared with another context.
 * Drawings are written, one at a time, into an empty document that was opened before: a navigation for each costs 25 ms of two cores.
 * Nothing here watches a clock, the caller kills the browser at the deadline.
 */
export class Page {
  readonly #connection: Connection;
  readonly #contextId: string;
  readonly #targetId: string;
  readonly #session: Session;
  #allowance: Allowance = { shellUrl: undefined, drawing: 0, assets: {} };
  #shells = 0;
  /** Resolves when the page is empty and may be drawn on. */
  #empty: Promise<void> = Promise.resolve();
  #size = '';
  #rest: NodeJS.Timeout | undefined;
  #lost = false;
  /** Ends what is under way. */
  #giveUp: (error: Error) => void = () => {};

  /** The document that loaded last. */
  #loadedId = '';
  #onLoaded: () => void = () => {};

  private constructor(connection: Connection, contextId: string, targetId: string, session: Session) {
    this.#connection = connection;
    this.#contextId = contextId;
    this.#targetId = targetId;
    this.#session = session;
    session.on('Page.lifecycleEvent', (event) => this.#note(event as unknown as LifecycleEvent));
    session.on('Fetch.requestPaused', (event) => {
      // A request that its page has given up meanwhile refuses the answer: that is no failure of the render.
      this.#answer(event as unknown as PausedRequest).catch(() => {});
    });
    const lose = () => {
      this.#lost = true;
      this.#giveUp(new BrowserGoneError('The process behind the page died.'));
    };
    session.on('Inspector.targetCrashed', lose);
    session.on('Inspector.detached', lose);
  }

  static async open(connection: Connection): Promise<Page> {
    const { browserContextId } = await connection.send<{ browserContextId: string }>(
      'Target.createBrowserContext',
      { disposeOnDetach: true },
    );
    await connection.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId });
    const { targetId } = await connection.send<{ targetId: string }>('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
    });
    const { sessionId } = await connection.send<{ sessionId: string }>('Target.attachToTarget', {
      targetId,
      flatten: true,
    });
    const page = new Page(connection, browserContextId, targetId, connection.session(sessionId));
    await page.#unlessLost(page.#wall());
    page.#clear();
    return page;
  }

  /**
   * Draws one document and answers a PNG of at least its size (Chromium's fast, large encoding).
   * @throws LoadError, BrowserGoneError
   */
  async draw(drawing: Drawing): Promise<{ png: Buffer; loadMs: number; captureMs: number }> {
    clearTimeout(this.#rest);
    const startedAt = performance.now();
    await this.#unlessLost(this.#load(drawing));
    const loadedAt = performance.now();
    const png = await this.#unlessLost(this.#capture());
    if (leavesTraces(drawing.html)) this.#clear();
    else this.#rest = setTimeout(() => this.#clear(), REST_AFTER_MS);
    return { png, loadMs: loadedAt - startedAt, captureMs: performance.now() - loadedAt };
  }

  /** Whether its process died, perhaps while nobody drew: it is not to be drawn on again. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Ends the page and its context. */
  async close(): Promise<void> {
    clearTimeout(this.#rest);
    this.#connection.forget(this.#session);
    await this.#connection.send('Target.disposeBrowserContext', { browserContextId: this.#contextId });
  }

  /** A process that died answers nothing: whoever waits for it has to be told. One at a time. */
  #unlessLost<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (this.#lost) reject(new BrowserGoneError('The process behind the page had died.'));
      work.then(resolve, reject);
    });
  }

  async #wall(): Promise<void> {
    const session = this.#session;
    const transparent = { color: { r: 0, g: 0, b: 0, a: 0 } };
    const offline = { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await Promise.all([
      session.send('Inspector.enable'),
      session.send('Page.enable'),
      session.send('Page.setLifecycleEventsEnabled', { enabled: true }),
      session.send('Network.enable'),
      session.send('Network.setCacheDisabled', { cacheDisabled: true }),
      session.send('Network.setBypassServiceWorker', { bypass: true }),
      session.send('Network.emulateNetworkConditions', offline),
      session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }),
      session.send('Emulation.setScriptExecutionDisabled', { value: true }),
      session.send('Emulation.setDefaultBackgroundColorOverride', transparent),
    ]);
  }

  async #load({ html, width, height, assets }: Drawing): Promise<void> {
    await this.#resize(width, height);
    await this.#empty;
    this.#allowance = { shellUrl: undefined, drawing: this.#allowance.drawing + 1, assets };
    const loaded = new Promise<void>((resolve) => {
      this.#onLoaded = resolve;
    });
    await this.#write(withAssetUrls(html, this.#allowance));
    await loaded;
    await this.#session.send('Runtime.evaluate', { expression: SETTLE, awaitPromise: true });
  }

  #write(html: string): Promise<unknown> {
    return this.#session
      .send('Page.setDocumentContent', { frameId: this.#targetId, html })
      .catch((error: Error) => {
        throw error instanceof BrowserGoneError ? error : new LoadError(error.message);
      });
  }

  /** Opens an empty document in place of whatever was drawn last. */
  #clear(): void {
    this.#shells += 1;
    const url = shellUrl(this.#shells);
    this.#allowance = { ...this.#allowance, shellUrl: url, assets: {} };
    this.#empty = this.#open(url);
    // Whoever draws next hears of a failure.
    this.#empty.catch(() => {});
  }

  async #open(url: string): Promise<void> {
    const { errorText, loaderId } = await this.#session.send<{ errorText?: string; loaderId?: string }>(
      'Page.navigate',
      { url },
    );
    if (errorText !== undefined) throw new LoadError(`The page could not be emptied: ${errorText}.`);
    if (loaderId === this.#loadedId) return;
    await new Promise<void>((resolve) => {
      this.#onLoaded = () => {
        if (loaderId === this.#loadedId) resolve();
      };
    });
  }

  #note({ name, frameId, loaderId }: LifecycleEvent): void {
    // The id of a page's main frame is that of its target.
    if (name !== 'load' || frameId !== this.#targetId) return;
    this.#loadedId = loaderId;
    this.#onLoaded();
  }

  async #resize(width: number, height: number): Promise<void> {
    const size = `${width}x${height}`;
    if (size === this.#size) return;
    this.#size = size;
    await this.#session.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
  }

  async #capture(): Promise<Buffer> {
    const { data } = await this.#session.send<{ data: string }>('Page.captureScreenshot', {
      format: 'png',
      optimizeForSpeed: true,
    });
    return Buffer.from(data, 'base64');
  }

  #answer({ requestId, request, resourceType }: PausedRequest): Promise<unknown> {
    const decision = decide({ url: request.url, resourceType }, this.#allowance);
    switch (decision.kind) {
      case 'shell':
        this.#allowance = { ...this.#allowance, shellUrl: undefined };
        return this.#fulfill(requestId, 200, SHELL_HEADERS);
      case 'asset':
        return this.#fulfill(requestId, 200, assetHeaders(decision.contentType), decision.data);
      case 'stay':
        return this.#fulfill(requestId, 204, {});
      case 'block':
        return this.#session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
    }
  }

  #fulfill(
    requestId: string,
    responseCode: number,
    headers: Record<string, string>,
    data: Uint8Array = new Uint8Array(),
  ): Promise<unknown> {
    const responseHeaders = Object.entries(headers).map(([name, value]) => ({ name, value }));
    const body = Buffer.from(data).toString('base64');
    return this.#session.send('Fetch.fulfillRequest', { requestId, responseCode, responseHeaders, body });
  }
}

interface LifecycleEvent {
  name: string;
  frameId: string;
  loaderId: string;
}

interface PausedRequest {
  requestId: string;
  request: { url: string };
  resourceType: string;
}
