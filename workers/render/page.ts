import type { BrowserContext, CDPSession, Page as Tab } from 'playwright';
import type { Browser } from './browser.ts';
import {
  type AllowedPageRequests,
  assetHeaders,
  decideRequest,
  EMPTY_DOCUMENT_HEADERS,
  emptyDocumentUrl,
  hasLastingEffects,
  withAssetUrls,
} from './policy.ts';
import type { PageTextFacts, RenderTask } from './protocol.ts';
import { settlePage, withoutAnimation, withoutDrawingAnimation } from './stillness.ts';

/** The process of the page, or its whole browser, has ended. */
class PageLostError extends Error {
  override readonly name = 'PageLostError';
}

/** The document did not finish loading, and the browser is not the cause. */
export class PageLoadError extends Error {
  override readonly name = 'PageLoadError';
}

type PageContent = Pick<RenderTask, 'html' | 'width' | 'height' | 'scale' | 'assets'>;

export interface PageCapture {
  png: Buffer;
  loadMs: number;
  captureMs: number;
  text: PageTextFacts;
}

/** Calls back once, after `delayMs` milliseconds; the returned function cancels it. */
export type CallAfter = (delayMs: number, callback: () => void) => () => void;

/** The milliseconds after which an idle page is emptied, so that no script or animation of its last drawing runs on. */
const EMPTY_IDLE_PAGE_AFTER_MS = 100;

/** The restrictions that Playwright enforces. The context sets no viewport, because each drawing sets its own size. */
const CONTEXT_OPTIONS = {
  javaScriptEnabled: false,
  offline: true,
  acceptDownloads: false,
  viewport: null,
} as const;

/**
 * A warm page in its own browser context: it shares no cookie, cache or process with another context. Drawings are
 * written, one at a time, into an empty document that was opened before, because a navigation per drawing would cost 25
 * ms of two cores. The page has no timeout: the caller kills the browser at the deadline.
 */
export class BrowserPage {
  readonly #context: BrowserContext;
  readonly #session: CDPSession;
  /** The id that Chromium has given to the main frame. */
  readonly #frameId: string;
  #allowance: AllowedPageRequests = { shellUrl: undefined, drawing: 0, assets: {} };
  #openedShellCount = 0;
  /** Resolves when the page is empty and may be drawn on. */
  #emptied: Promise<void> = Promise.resolve();
  #sizeKey = '';
  readonly #callAfter: CallAfter;
  /** Cancels the scheduled emptying. */
  #cancelEmptying: () => void = () => {};
  #lost = false;
  /** Rejects the call in progress. */
  #rejectCall: (error: Error) => void = () => {};

  /** The id of the document that loaded last. */
  #loadedId = '';
  #onLoaded: () => void = () => {};

  private constructor(tab: Tab, session: CDPSession, frameId: string, after: CallAfter) {
    this.#context = tab.context();
    this.#session = session;
    this.#frameId = frameId;
    this.#callAfter = after;
    session.on('Page.lifecycleEvent', (event) => {
      if (event.name !== 'load' || event.frameId !== frameId) return;
      this.#loadedId = event.loaderId;
      this.#onLoaded();
    });
    session.on('Fetch.requestPaused', ({ requestId, request, resourceType }) => {
      // The browser rejects the response to a request that its page has cancelled. This is no failure of the render.
      this.#answerRequest(requestId, request.url, resourceType).catch(() => {});
    });
    const lose = () => {
      this.#lost = true;
      this.#rejectCall(new PageLostError('The process of the page died.'));
    };
    tab.on('crash', lose);
    tab.on('close', lose);
  }

  /**
   * Opens a page in a new browser context.
   * @throws PageLostError, or Playwright's error for a browser that is gone
   */
  static async open({ driver, onPageCrash }: Browser, after: CallAfter): Promise<BrowserPage> {
    const context = await driver.newContext(CONTEXT_OPTIONS);
    const loss = Promise.withResolvers<never>();
    // Playwright does not report a page that dies while it is opened, and would wait for ever.
    const lose = () => loss.reject(new PageLostError('The process of the page died while it was opened.'));
    const unwatch = onPageCrash(lose);
    context.once('close', lose);
    try {
      return await Promise.race([BrowserPage.#openIn(context, after), loss.promise]);
    } finally {
      unwatch();
    }
  }

  static async #openIn(context: BrowserContext, after: CallAfter): Promise<BrowserPage> {
    const tab = await context.newPage();
    const session = await context.newCDPSession(tab);
    const { frameTree } = await session.send('Page.getFrameTree');
    const page = new BrowserPage(tab, session, frameTree.frame.id, after);
    await page.#restrict();
    page.#openEmptyDocument();
    return page;
  }

  /**
   * Draws one document and returns a PNG of at least its size. Chromium encodes the PNG fast and hardly compresses it.
   * @throws PageLoadError, PageLostError
   */
  async draw(drawing: PageContent): Promise<PageCapture> {
    this.#cancelEmptying();
    const startedAt = performance.now();
    const text = await this.#unlessLost(this.#load(drawing));
    const loadedAt = performance.now();
    const png = await this.#unlessLost(this.#captureScreenshot());
    if (hasLastingEffects(drawing.html)) this.#openEmptyDocument();
    else this.#cancelEmptying = this.#callAfter(EMPTY_IDLE_PAGE_AFTER_MS, () => this.#openEmptyDocument());
    return { png, loadMs: loadedAt - startedAt, captureMs: performance.now() - loadedAt, text };
  }

  /** Whether the process of the page has died, perhaps between two drawings. Such a page must not be used again. */
  get lost(): boolean {
    return this.#lost;
  }

  async close(): Promise<void> {
    this.#cancelEmptying();
    await this.#context.close();
  }

  /** Rejects a call when its page is lost, because a dead process never answers. Only one call may be in progress. */
  #unlessLost<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#rejectCall = reject;
      if (this.#lost) reject(new PageLostError('The process of the page had died.'));
      work.then(resolve, reject);
    });
  }

  async #restrict(): Promise<void> {
    const session = this.#session;
    const transparent = { color: { r: 0, g: 0, b: 0, a: 0 } };
    await Promise.all([
      session.send('Page.enable'),
      session.send('Page.setLifecycleEventsEnabled', { enabled: true }),
      session.send('Network.enable'),
      session.send('Network.setCacheDisabled', { cacheDisabled: true }),
      session.send('Network.setBypassServiceWorker', { bypass: true }),
      session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }),
      session.send('Emulation.setDefaultBackgroundColorOverride', transparent),
    ]);
  }

  async #load({ html, width, height, scale = 1, assets }: PageContent): Promise<PageTextFacts> {
    await this.#resize(width, height, scale);
    await this.#emptied;
    this.#allowance = { shellUrl: undefined, drawing: this.#allowance.drawing + 1, assets };
    const loaded = new Promise<void>((resolve) => {
      this.#onLoaded = resolve;
    });
    await this.#writeDocument(withoutDrawingAnimation(withAssetUrls(html, this.#allowance)));
    await loaded;
    return settlePage(this.#session);
  }

  #writeDocument(html: string): Promise<unknown> {
    return this.#session
      .send('Page.setDocumentContent', { frameId: this.#frameId, html })
      .catch((error: Error) => {
        // Playwright reports a refusal by the browser as a "Protocol error", and the end of the browser in another
        // form.
        throw error.message.includes('Protocol error') ? new PageLoadError(error.message) : error;
      });
  }

  /** Opens an empty document in place of the last drawing. */
  #openEmptyDocument(): void {
    this.#openedShellCount += 1;
    const url = emptyDocumentUrl(this.#openedShellCount);
    this.#allowance = { ...this.#allowance, shellUrl: url, assets: {} };
    this.#emptied = this.#navigateTo(url);
    // A failure is reported by the next drawing.
    this.#emptied.catch(() => {});
  }

  async #navigateTo(url: string): Promise<void> {
    const { errorText, loaderId } = await this.#session.send('Page.navigate', { url });
    if (errorText !== undefined) throw new PageLoadError(`The page could not be emptied: ${errorText}.`);
    if (loaderId === this.#loadedId) return;
    await new Promise<void>((resolve) => {
      this.#onLoaded = () => {
        if (loaderId === this.#loadedId) resolve();
      };
    });
  }

  async #resize(width: number, height: number, scale: number): Promise<void> {
    const size = `${width}x${height}@${scale}`;
    if (size === this.#sizeKey) return;
    this.#sizeKey = size;
    await this.#session.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: scale,
      mobile: false,
    });
  }

  async #captureScreenshot(): Promise<Buffer> {
    const { data } = await this.#session.send('Page.captureScreenshot', {
      format: 'png',
      optimizeForSpeed: true,
    });
    return Buffer.from(data, 'base64');
  }

  #answerRequest(requestId: string, url: string, resourceType: string): Promise<unknown> {
    const decision = decideRequest({ url, resourceType }, this.#allowance);
    switch (decision.kind) {
      case 'shell':
        this.#allowance = { ...this.#allowance, shellUrl: undefined };
        return this.#fulfill(requestId, 200, EMPTY_DOCUMENT_HEADERS);
      case 'asset':
        return this.#fulfill(requestId, 200, assetHeaders(decision.contentType), withoutAnimation(decision));
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
