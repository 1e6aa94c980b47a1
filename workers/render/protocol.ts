import type { MessagePort } from 'node:worker_threads';
import type { EncodeOptions, OutputFormat, PassTimings, PictureFile } from '../protocol.ts';

/*
 * The messages between an API process and its render threads. Both sides import this file; neither imports the other.
 */

/** A page to draw. */
export interface RenderTask {
  kind: 'render';
  /** The whole HTML document, with every placeholder filled. */
  html: string;
  /** Width and height in CSS pixels. */
  width: number;
  height: number;
  /** The number of pixels of the picture per CSS pixel; 1 if absent. */
  scale?: number;
  /** If absent, a PNG is written. */
  encode?: PageEncodeOptions;
  /** The account that owns the page. Pages of two accounts never share a browser context. */
  accountId: string;
  /** Assets that the page may load, by asset id, served from memory. All other URLs except `data:` are blocked. */
  assets: Record<string, { data: Uint8Array; contentType: string }>;
  deadlineMs: number;
}

/** The options for writing the picture of a page. */
export interface PageEncodeOptions extends Pick<EncodeOptions, 'quality'> {
  format: OutputFormat;
}

/** The characters and font families of the text of a page, and its pieces that cannot be seen whole. */
export interface PageTextFacts {
  /** The characters beyond ASCII, each once. Characters in a declared font are left out if they were drawn. */
  characters: string;
  /** The font family lists of the text, each as in CSS. */
  families: string[];
  /** The beginnings of text of which a part is cut off, by its box or by the edge of the picture. */
  cut: string[];
}

export interface DrawnPage extends PictureFile {
  kind: 'rendered';
  timings: PassTimings;
  text: PageTextFacts;
}

/**
 * The reason why a page was not drawn. `load`: the document did not finish loading. `memory`: its browser was killed,
 * because the page needs more memory than `limitBytes`. `deadline`: the page was killed at its deadline. `crash`: the
 * browser died. `no_browser`: no browser could be started.
 */
export interface RenderFailure {
  kind: 'render_failure';
  reason: 'load' | 'memory' | 'deadline' | 'crash' | 'no_browser';
  message: string;
  /** The memory limit of the browser; present if the reason is `memory`. */
  limitBytes?: number;
}

export type RenderResult = DrawnPage | RenderFailure;

/** The client that waits for a page. */
export interface RenderClient {
  /** When this signal aborts, the page ends as at its deadline. */
  clientGone: AbortSignal;
  /** Called when a browser begins to draw the page, and again when the page is tried in a second browser. */
  onDrawing: () => void;
}

/** The options with which a render thread starts. */
export interface RenderThreadOptions {
  /** Path of the operator's browser; empty to search for one. */
  browserPath: string;
  /** Directory into which the bundled browser is unpacked when no other is found. */
  cacheDir: string;
  /**
   * `auto`: the browser runs without Chromium's sandbox if the sandbox is not available. `required`: it then does not
   * run at all.
   */
  sandbox: 'auto' | 'required';
  /** The niceness that is added to that of the browser; none if absent. */
  niceness?: number;
  /** The number of pages after which the browser is replaced by a new one. */
  recycleAfterPages: number;
  /**
   * The most memory in bytes that a browser may hold. A page that exceeds this limit is ended, and the browser is
   * replaced after the page.
   */
  memoryLimitBytes: number;
}

/**
 * A call to a render thread: a page to draw, or `stop`, which kills the browser and ends the work of the thread. A
 * message to the port `client` means that nobody waits for the page any more. The thread sends a message to it when the
 * drawing begins.
 */
export type RenderCall = (RenderTask & { client: MessagePort }) | { kind: 'stop' };

/** A message for the operator. All other messages of a render thread are answers to calls. */
export interface RenderNotice {
  level: 'info' | 'warn' | 'error';
  message: string;
  /** Whether the browser runs without a sandbox. */
  unsandboxed?: true;
}
