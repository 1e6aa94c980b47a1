import type { RawPixels, TaskFailure } from '../protocol.ts';

/*
 * The messages between an API process and the child process that draws SVGs. Both sides import this file; neither
 * imports the other.
 */

/**
 * The size in which a drawing is drawn. `density`: by dots per inch; at 96, a CSS pixel is one pixel. `atLeast`: at
 * least this size in pixels, as far as the limit allows. `mayShrink`: smaller if the limit requires it.
 */
export type RequestedDrawingSize =
  | { density: number; mayShrink?: boolean }
  | { atLeast: { width?: number; height?: number } };

/** A task that draws an SVG to pixels, in a process that can be killed. The process performs one task at a time. */
export interface RasterizeTask {
  input: Uint8Array;
  size: RequestedDrawingSize;
  /** Largest output, in pixels. */
  limitPixels: number;
}

/** The pixels follow on the data pipe, width × height × channels bytes. */
export interface RasterizedPixels extends RawPixels {
  kind: 'rasterized';
  /** Size of the drawing at 96 dots per inch, in pixels. */
  naturalWidth: number;
  naturalHeight: number;
}

export type RasterizeResult = RasterizedPixels | TaskFailure;
