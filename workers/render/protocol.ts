import type { EncodeOptions, OutputFormat, PassTimings } from '../protocol.ts';

/*
 * The messages between an API process and its render threads. Both sides import this file; neither imports the other.
 */

/** A page to draw. The document is complete: every placeholder is filled. */
export interface RenderTask {
  kind: 'render';
  /** The whole HTML document. */
  html: string;
  /** Width and height in CSS pixels. */
  width: number;
  height: number;
  /** Pixels of the picture per CSS pixel; absent: 1. */
  scale?: number;
  /** Absent: PNG. */
  encode?: PageEncodeOptions;
  /** Account whose page this is. Pages of two accounts never share a browser context. */
  accountId: string;
  /** Assets that the page may load, by asset id, served from memory. All other URLs except `data:` are blocked. */
  assets: Record<string, { data: Uint8Array; contentType: string }>;
  deadlineMs: number;
}

/** How the picture of a page is written. */
export interface PageEncodeOptions extends Pick<EncodeOptions, 'quality'> {
  format: OutputFormat;
}

/** What a page asks of fonts. */
export interface PageText {
  /** Its characters beyond ASCII, each once. Of text in a declared font, only those that were not drawn. */
  characters: string;
  /** The font family lists of its text, each as in CSS. */
  families: string[];
}

interface Rendered {
  kind: 'rendered';
  data: Uint8Array<ArrayBuffer>;
  contentType: string;
  /** Width and height in pixels of the picture. */
  width: number;
  height: number;
  timings: PassTimings;
  text: PageText;
}

/**
 * Why a page was not drawn. `load`: the document did not finish loading; `memory`: its browser was killed because the
 * page needs more memory than `limitBytes`; `deadline`: the page was killed at its deadline; `crash`: the browser died;
 * `no_browser`: no browser could be started.
 */
export interface RenderFailure {
  kind: 'render_failure';
  reason: 'load' | 'memory' | 'deadline' | 'crash' | 'no_browser';
  message: string;
  /** Of `memory` alone. */
  limitBytes?: number;
}

export type RenderResult = Rendered | RenderFailure;

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
  /** Niceness that is added to the browser's; absent: none. */
  niceness?: number;
  /** Number of pages after which the browser is replaced by a new one. */
  recycleAfterPages: number;
  /**
   * The most memory in bytes that a browser may hold. A page that exceeds it is ended, and the browser is replaced
   * after its page.
   */
  memoryLimitBytes: number;
}

/** `warm` starts the browser before the first page. `stop` kills it; the thread has nothing left to do then. */
export type RenderCall = RenderTask | { kind: 'warm' } | { kind: 'stop' };

export type RenderAnswer = RenderResult | { kind: 'done' };

/** A message for the operator, the only one that a render thread sends unasked. */
export interface RenderNotice {
  level: 'info' | 'warn' | 'error';
  message: string;
  /** The browser runs without a sandbox. */
  unsandboxed?: true;
}
