import type { Size } from '../../formats/size.ts';
import { LINEAR_LIGHT_BY_SRGB_VALUE } from '../colour/colour.ts';

/** 8-bit pixels in sRGB, not premultiplied. */
export interface PixelRaster extends Size {
  data: Uint8Array;
  /** Number of channels: 1 grey, 2 grey with alpha, 3 RGB, 4 RGBA. */
  channels: number;
}

/** One scale of a picture, in linear light, which is read row by row. */
export interface PyramidLevel extends Size {
  /** Writes red, green and blue of each pixel of row `y` into an array. */
  readRow(y: number, into: Float32Array): void;
}

/**
 * The picture at its own size. Transparent parts are laid on grey.
 * @param ground the grey, 0 to 255.
 */
export function fullSizeLevel(raster: PixelRaster, ground: number): PyramidLevel {
  const { data, width, height, channels } = raster;
  const lastColour = channels < 3 ? 0 : 2;
  const alphaAt = rasterHasAlpha(raster) ? channels - 1 : undefined;
  return {
    width,
    height,
    readRow(y, into) {
      for (let x = 0, at = y * width * channels, to = 0; x < width; x++, at += channels) {
        const opacity = alphaAt === undefined ? 1 : (data[at + alphaAt] as number) / 255;
        for (let colour = 0; colour < 3; colour++, to++) {
          const byte = data[at + Math.min(colour, lastColour)] as number;
          const flattened = opacity === 1 ? byte : Math.round(byte * opacity + ground * (1 - opacity));
          into[to] = LINEAR_LIGHT_BY_SRGB_VALUE[flattened] as number;
        }
      }
    },
  };
}

export function rasterHasAlpha({ channels }: PixelRaster): boolean {
  return channels % 2 === 0;
}

/**
 * A level with half the width and height. Each pixel is the mean of two by two pixels in linear light. The last row or
 * column of an odd number counts twice.
 */
export function halvedLevel(level: PyramidLevel): PyramidLevel {
  const [width, height] = [Math.ceil(level.width / 2), Math.ceil(level.height / 2)];
  const data = new Float32Array(3 * width * height);
  const [upper, lower] = [new Float32Array(3 * level.width), new Float32Array(3 * level.width)];
  for (let y = 0, to = 0; y < height; y++) {
    level.readRow(2 * y, upper);
    level.readRow(Math.min(2 * y + 1, level.height - 1), lower);
    for (let x = 0; x < width; x++) {
      const left = 6 * x;
      const right = 3 * Math.min(2 * x + 1, level.width - 1);
      for (let channel = 0; channel < 3; channel++, to++) {
        const [one, other] = [left + channel, right + channel];
        const sum =
          (upper[one] as number) +
          (upper[other] as number) +
          (lower[one] as number) +
          (lower[other] as number);
        data[to] = sum / 4;
      }
    }
  }
  return { width, height, readRow: (y, into) => into.set(data.subarray(3 * width * y, 3 * width * (y + 1))) };
}
