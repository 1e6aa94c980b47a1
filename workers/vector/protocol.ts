import type { Failure, RawPixels } from '../protocol.ts';

/*
 * What crosses between an API process and the process that draws vectors. Both sides import this page; neither imports
 * the other.
 */

/** SVG to pixels, in a process that can be killed. One task at a time. */
export interface RasterizeTask {
  input: Uint8Array;
  /** Dots per inch; 72 draws a user unit as one pixel. */
  density: number;
  /** Size of the drawing in pixels that the density is raised to, where it stays within limitPixels. */
  atLeast?: { width?: number; height?: number };
  /** Largest output, in pixels. */
  limitPixels: number;
}

/** The pixels follow on the data pipe, width × height × channels bytes. */
export interface Rasterized extends RawPixels {
  kind: 'rasterized';
  /** Of the drawing at 72 dots per inch. */
  naturalWidth: number;
  naturalHeight: number;
}

export type RasterizeResult = Rasterized | Failure;
