import type { Encode, OutputFormat, Timings } from '../protocol.ts';

/*
 * What crosses between an API process and its render threads. Both sides import this page; neither imports the other.
 */

/** A page to draw: the document is complete, every placeholder filled. */
export interface RenderTask {
  kind: 'render';
  /** Whole HTML document. */
  html: string;
  /** In CSS pixels. */
  width: number;
  height: number;
  /** Pixels of the picture for each CSS pixel; absent: 1. */
  scale?: number;
  /** Absent: PNG. */
  encode?: PageEncode;
  /** Whose page this is: pages of two accounts never share a browser context. */
  accountId: string;
  /** Assets the page may load, by asset id: fulfilled from memory. Everything else but `data:` is blocked. */
  assets: Record<string, { data: Uint8Array; contentType: string }>;
  deadlineMs: number;
}

/** How the picture of a page is written. */
export interface PageEncode extends Pick<Encode, 'quality'> {
  format: OutputFormat;
}

export interface Rendered {
  kind: 'rendered';
  data: Uint8Array<ArrayBuffer>;
  contentType: string;
  /** In pixels of the picture. */
  width: number;
  height: number;
  timings: Timings;
}

/** `load`: the document did not finish loading; `deadline`: killed at its deadline; `crash`: the browser died. */
export interface RenderFailure {
  kind: 'render_failure';
  reason: 'load' | 'deadline' | 'crash' | 'no_browser';
  message: string;
}

export type RenderResult = Rendered | RenderFailure;

/** What a render thread is started with. */
export interface RenderThreadOptions {
  /** The operator's browser; empty to look for one. */
  browserPath: string;
  /** Where the bundled browser is unpacked when there is no other. */
  cacheDir: string;
  /** `auto`: where Chromium's sandbox cannot be had, the browser runs without it. `required`: it does not run then. */
  sandbox: 'auto' | 'required';
  /** Added to the niceness of the browser; absent: nothing. */
  niceness?: number;
  /** Pages drawn before the browser is replaced by a fresh one. */
  recycleAfterPages: number;
  /** Memory above which it is replaced. */
  recycleAboveBytes: number;
}

/** `warm` starts the browser ahead of the first page; `stop` ends it, and its thread has nothing left to do. */
export type RenderCall = RenderTask | { kind: 'warm' } | { kind: 'stop' };

export type RenderAnswer = RenderResult | { kind: 'done' };

/** Something the operator should read: the one message that a render thread sends of its own accord. */
export interface RenderNotice {
  level: 'info' | 'warn' | 'error';
  message: string;
  /** The browser turned out to have no sandbox. */
  unsandboxed?: true;
}
