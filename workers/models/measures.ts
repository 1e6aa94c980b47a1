import sharp from 'sharp';
import { measure as measuredColours } from '../image/facts/measure.ts';
import { encodeOutput } from '../transport/output.ts';
import type { Measures } from './protocol.ts';

/** Measures facts of a picture's pixels. */
export async function measure(picture: Uint8Array): Promise<Measures> {
  const { data, info } = await encodeOutput(sharp(picture).ensureAlpha().toColourspace('srgb').raw());
  const { width, height } = info;
  const { dominantColor } = measuredColours({ data, width, height, channels: 4 });
  const light = new Uint8Array(width * height);
  let lightSum = 0;
  let colourSum = 0;
  let isTransparent = false;
  for (let pixel = 0, at = 0; pixel < light.length; pixel++, at += 4) {
    const [red, green, blue] = [data[at] as number, data[at + 1] as number, data[at + 2] as number];
    const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    light[pixel] = luminance;
    lightSum += luminance;
    colourSum += Math.max(red, green, blue) - Math.min(red, green, blue);
    isTransparent ||= (data[at + 3] as number) < 255;
  }
  return {
    width,
    height,
    dominantColor,
    brightness: lightSum / light.length / 255,
    colourfulness: colourSum / light.length / 255,
    isTransparent,
    hasText: looksLikeText(light, width, height),
  };
}

/** Smallest difference of luminance between neighbouring pixels, of 255, that counts as the edge of a stroke. */
const STROKE_EDGE = 70;
/** Edges per 100 pixels of a row from which the row counts as part of a line of text. */
const STROKES_PER_100 = 4;
const MIN_LINE_ROWS = 5;
const MAX_LINE_ROWS = 120;

/**
 * Whether the picture looks like text. Lines of text are bands of rows with many sharp edges between bands with few.
 * This is a rough measure, which recognises no letters.
 */
function looksLikeText(light: Uint8Array, width: number, height: number): boolean {
  let rows = 0;
  for (let y = 0; y <= height; y++) {
    const isBusy =
      y < height && edgesIn(light.subarray(y * width, (y + 1) * width)) * 100 >= STROKES_PER_100 * width;
    if (isBusy) {
      rows += 1;
      continue;
    }
    if (rows >= MIN_LINE_ROWS && rows <= Math.min(MAX_LINE_ROWS, height / 3)) return true;
    rows = 0;
  }
  return false;
}

function edgesIn(row: Uint8Array): number {
  let edges = 0;
  for (let x = 1; x < row.length; x++)
    if (Math.abs((row[x] as number) - (row[x - 1] as number)) >= STROKE_EDGE) edges += 1;
  return edges;
}
