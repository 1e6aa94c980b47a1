import type { Size } from '../../formats/size.ts';
import type { Box } from './geometry.ts';
import type { Pixels, Rgba } from './pixels.ts';

/**
 * Functions that change the pixels of one frame in place, without a pipeline. They suit a box in which every byte must
 * be overwritten, and changes of few bytes.
 */

/** Sets every pixel of a box to a colour; without an alpha channel the colour's alpha is ignored. */
export function fillBox({ data, width, channels }: Pixels, box: Box, { r, g, b, alpha }: Rgba): void {
  const grey = Math.round(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const pixel = channels === 1 ? [grey] : [r, g, b, Math.round(alpha * 255)].slice(0, channels);
  const row = Uint8Array.from({ length: box.width * channels }, (_, index) => pixel[index % channels] ?? 0);
  for (let y = box.top; y < box.top + box.height; y++) data.set(row, (y * width + box.left) * channels);
}

/**
 * Replaces each block of a box by its mean colour, weighted by alpha. Blocks at the right and lower edges may be
 * smaller.
 */
export function pixelateBox(pixels: Pixels, box: Box, blockPx: number): void {
  for (let top = box.top; top < box.top + box.height; top += blockPx) {
    const height = Math.min(blockPx, box.top + box.height - top);
    for (let left = box.left; left < box.left + box.width; left += blockPx) {
      const block = { left, top, width: Math.min(blockPx, box.left + box.width - left), height };
      fillBoxWithPixel(pixels, block, meanColourOf(pixels, [block]));
    }
  }
}

/** Replaces the value of each colour channel, 0 to 255, by the result of a function. Transparency stays. */
export function mapColourChannels({ data, channels }: Pixels, convert: (value: number) => number): void {
  const converted = Uint8Array.from({ length: 256 }, (_, value) => convert(value));
  for (let at = 0; at < data.length; at++) {
    if (channels === 4 && at % 4 === 3) continue;
    data[at] = converted[data[at] as number] as number;
  }
}

/** The mean colour of several boxes together, as the bytes of one pixel. Colours are weighted by their alpha. */
export function meanColourOf({ data, width, channels }: Pixels, boxes: readonly Box[]): Uint8Array {
  const sums = new Float64Array(channels);
  let weight = 0;
  let count = 0;
  for (const box of boxes) {
    count += box.width * box.height;
    for (let y = box.top; y < box.top + box.height; y++) {
      let at = (y * width + box.left) * channels;
      for (let x = 0; x < box.width; x++, at += channels) {
        const opacity = channels === 4 ? (data[at + 3] as number) : 255;
        weight += opacity;
        for (let channel = 0; channel < Math.min(3, channels); channel++) {
          sums[channel] = (sums[channel] as number) + opacity * (data[at + channel] as number);
        }
      }
    }
  }
  const mean = Uint8Array.from(sums, (sum) => (weight === 0 ? 0 : Math.round(sum / weight)));
  if (channels === 4) mean[3] = Math.round(weight / count);
  return mean;
}

/** Sets every pixel of a box to the bytes of one pixel. */
export function fillBoxWithPixel({ data, width, channels }: Pixels, box: Box, pixel: Uint8Array): void {
  for (let y = box.top; y < box.top + box.height; y++) {
    const start = (y * width + box.left) * channels;
    for (let at = start; at < start + box.width * channels; at++)
      data[at] = pixel[(at - start) % channels] as number;
  }
}

/** Copies a box out of the pixels. */
export function copyBox({ data, width, channels }: Pixels, box: Box): Pixels {
  const rowBytes = box.width * channels;
  const copy = new Uint8Array(rowBytes * box.height);
  for (let y = 0; y < box.height; y++) {
    const start = ((box.top + y) * width + box.left) * channels;
    copy.set(data.subarray(start, start + rowBytes), y * rowBytes);
  }
  return { data: copy, width: box.width, height: box.height, channels, frames: 1 };
}

/** Writes pixels over other pixels with the same number of channels. */
export function pastePixels(onto: Pixels, piece: Pixels, at: { left: number; top: number }): void {
  const rowBytes = piece.width * piece.channels;
  for (let y = 0; y < piece.height; y++) {
    const row = piece.data.subarray(y * rowBytes, (y + 1) * rowBytes);
    onto.data.set(row, ((at.top + y) * onto.width + at.left) * onto.channels);
  }
}

/**
 * Fills an area with a tile that is repeated in every direction.
 * @param at the position of one tile.
 * @param gapPx the distance between two tiles, which stays transparent.
 */
export function repeatTile(
  tile: Pixels,
  at: { left: number; top: number },
  { width, height }: Size,
  gapPx: number,
): Pixels {
  const { channels } = tile;
  const period = { width: tile.width + gapPx, height: tile.height + gapPx };
  const rowBytes = width * channels;
  const tileBytes = tile.width * channels;
  const shiftBytes = modulo(-at.left, period.width) * channels;
  const onceBytes = Math.min(rowBytes, period.width * channels);
  const data = new Uint8Array(rowBytes * height);
  const source = new Uint8Array(period.width * channels);
  for (let y = 0; y < Math.min(height, period.height); y++) {
    const tileRow = modulo(y - at.top, period.height);
    if (tileRow >= tile.height) continue;
    source.set(tile.data.subarray(tileRow * tileBytes, (tileRow + 1) * tileBytes));
    const first = Buffer.concat([source.subarray(shiftBytes), source.subarray(0, shiftBytes)], onceBytes);
    data.set(first, y * rowBytes);
    repeatPrefix(data.subarray(y * rowBytes, (y + 1) * rowBytes), onceBytes);
  }
  repeatPrefix(data, Math.min(height, period.height) * rowBytes);
  return { data, width, height, channels, frames: 1 };
}

/** Repeats the first `lengthBytes` bytes up to the end of the array. */
function repeatPrefix(data: Uint8Array, lengthBytes: number): void {
  for (let filled = lengthBytes; filled < data.length; filled *= 2) data.copyWithin(filled, 0, filled);
}

/** Makes RGBA pixels outside of elliptic corners transparent, with a soft edge of one pixel. */
export function makeCornersTransparent(pixels: Pixels, radius: Size): void {
  const { data } = pixels;
  forEachCornerPixel(pixels, radius, (at, coverage) => {
    data[at + 3] = Math.round((data[at + 3] as number) * coverage);
  });
}

/** Sets RGBA pixels outside of elliptic corners to a colour, with a soft edge of one pixel. */
export function fillCorners(pixels: Pixels, radius: Size, { r, g, b, alpha }: Rgba): void {
  const { data } = pixels;
  forEachCornerPixel(pixels, radius, (at, coverage) => {
    const pictureWeight = coverage * (data[at + 3] as number);
    const inkWeight = (1 - coverage) * alpha * 255;
    const opacity = pictureWeight + inkWeight;
    for (const [channel, ink] of [r, g, b].entries()) {
      const mixed = pictureWeight * (data[at + channel] as number) + inkWeight * ink;
      data[at + channel] = opacity === 0 ? 0 : Math.round(mixed / opacity);
    }
    data[at + 3] = Math.round(opacity);
  });
}

/**
 * Calls back for each RGBA pixel that lies partly or completely outside the round corners, with its offset and the
 * share of it that lies inside.
 */
function forEachCornerPixel(
  { width, height }: Size,
  radius: Size,
  visit: (at: number, kept: number) => void,
): void {
  const across = Math.min(radius.width, width / 2);
  const down = Math.min(radius.height, height / 2);
  for (let y = 0; y < Math.ceil(down); y++) {
    for (let x = 0; x < Math.ceil(across); x++) {
      const coverage = coverageByEllipse(across - x - 0.5, down - y - 0.5, across, down);
      if (coverage === 1) break;
      for (const row of [y, height - 1 - y]) {
        for (const column of [x, width - 1 - x]) visit((row * width + column) * 4, coverage);
      }
    }
  }
}

/**
 * The share of a pixel, 0 to 1, that lies within an ellipse.
 * @param dx horizontal distance of the pixel from the centre of the ellipse; `dy` is the vertical distance.
 */
function coverageByEllipse(dx: number, dy: number, across: number, down: number): number {
  if (dx <= 0 || dy <= 0) return 1;
  const relativeDistance = Math.hypot(dx / across, dy / down);
  const slope = Math.hypot(dx / across ** 2, dy / down ** 2) / relativeDistance;
  return Math.min(1, Math.max(0, (1 - relativeDistance) / slope + 0.5));
}

/** Multiplies the alpha of RGBA pixels by the opacity. */
export function multiplyAlpha({ data }: Pixels, opacity: number): void {
  const alphaTable = Uint8Array.from({ length: 256 }, (_, alpha) => Math.round(alpha * opacity));
  for (let at = 3; at < data.length; at += 4) data[at] = alphaTable[data[at] as number] as number;
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
