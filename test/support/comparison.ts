import type { Sharp } from 'sharp';
import { ssim } from 'ssim.js';

/** How two pictures of one size stand to each other. */
export interface Comparison {
  /** SSIM of their light: 1 is the same. */
  likeness: number;
  /** Mean distance of a colour channel, of 255: SSIM does not see a hue. */
  colourDistance: number;
}

/** Compares two pictures of the same size without transparency. */
export async function comparePictures(first: Sharp, second: Sharp): Promise<Comparison> {
  const [one, other] = await Promise.all([rasterOf(first), rasterOf(second)]);
  const distances = one.data.map((value, index) => Math.abs(value - (other.data[index] ?? 0)));
  return {
    likeness: ssim(lightOf(one), lightOf(other), { downsample: false }).mssim,
    colourDistance: distances.reduce((sum, distance) => sum + distance, 0) / distances.length,
  };
}

interface Raster {
  /** Red, green, blue, row by row. */
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

async function rasterOf(picture: Sharp): Promise<Raster> {
  const { data, info } = await picture.toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
  return { data: new Uint8ClampedArray(data), width: info.width, height: info.height };
}

/** Its luma, as SSIM reads it: RGBA. */
function lightOf({ data, width, height }: Raster): Raster {
  const light = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const [red = 0, green = 0, blue = 0] = data.subarray(pixel * 3, pixel * 3 + 3);
    light.fill(0.299 * red + 0.587 * green + 0.114 * blue, pixel * 4, pixel * 4 + 3);
  }
  return { data: light, width, height };
}
