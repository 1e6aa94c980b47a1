import type { Failure, RawPixels } from '../protocol.ts';

/*
 * The messages between an API process and the child process that draws SVGs. Both sides import this file; neither
 * imports the other.
 */

/** Draws an SVG to pixels, in a process that can be killed. The process performs one task at a time. */
export interface RasterizeTask {
  input: Uint8Array;
  /** Dots per inch; 72 draws a user unit as one pixel. */
  density: number;
  /** Smallest size of the drawing, in pixels: the density is raised to reach it, as far as limitPixels allows. */
  atLeast?: { width?: number; height?: number };
  /** Largest output, in pixels. */
  limitPixels: number;
}

/** The pixels follow on the data pipe, width × height × channels bytes. */
export interface Rasterized extends RawPixels {
  kind: 'rasterized';
  /** Size of the drawing at 72 dots per inch, in pixels. */
  naturalWidth: number;
  naturalHeight: number;
}

export type RasterizeResult = Rasterized | Failure;
