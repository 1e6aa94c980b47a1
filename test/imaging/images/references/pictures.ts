import sharp from 'sharp';

/**
 * Small pictures made by formulas, the same as in generated.py, so that what other implementations made of them can be
 * kept as numbers.
 */
const FORMULAS = {
  waves: () => waves,
  muted: () => (x, y) => waves(x, y).map((value) => Math.round(128 + (value - 128) / 4)),
  veiled: () => (x, y) => [...waves(x, y), Math.round(127.5 + 127.5 * Math.sin((x + 2 * y) / 13))],
  specks: () => specks,
  edge: (width) => (x) => grey(x < Math.floor(width / 2) ? 0 : 255),
  lines: () => (x) => grey((x % 2) * 255),
  dull: (width, height, whites) => (x, y) => {
    const index = y * width + x;
    return grey(index >= width * height - whites ? 255 : 60 + Math.floor((index * 80) / (width * height)));
  },
  mounted: (width, height, margin) => (x, y) => {
    const isInside = x >= margin && x < width - 2 * margin && y >= margin && y < height - 3 * margin;
    return isInside
      ? specks(x, y).map((value) => 60 + Math.floor((value * 3) / 4))
      : grey(20 + ((x + y) % 5));
  },
  plain: (_width, _height, value) => () => grey(value),
  island: (width, height) => (x, y) => {
    const isInside = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2;
    return Array.from({ length: 4 }, () => (isInside ? 255 : 0));
  },
} satisfies Record<string, (width: number, height: number, more: number) => Formula>;

type Formula = (x: number, y: number) => number[];

export type PictureName = [name: keyof typeof FORMULAS, width: number, height: number, more?: number];

function waves(x: number, y: number): number[] {
  return [
    128 + 100 * Math.sin(x / 5) * Math.cos(y / 7),
    128 + 90 * Math.sin((x + y) / 9),
    128 + 110 * Math.cos(x / 3 - y / 11),
  ].map(Math.round);
}

function specks(x: number, y: number): number[] {
  const value = (x * 7919 + y * 104729 + ((x * y) % 61) * 31) % 251;
  return [value, (value * 3 + 40) % 256, (value * 7 + 90) % 256];
}

function grey(value: number): number[] {
  return [value, value, value];
}

/** A picture as a PNG. */
export async function pictureNamed([name, width, height, more = 0]: PictureName): Promise<Uint8Array> {
  const pixel: Formula = FORMULAS[name](width, height, more);
  const indexes = Array.from({ length: width * height }, (_, index) => index);
  const pixels = indexes.map((index) => pixel(index % width, Math.floor(index / width)));
  const channels = pixels[0]?.length === 4 ? 4 : 3;
  const file = sharp(Uint8Array.from(pixels.flat()), { raw: { width, height, channels } }).png();
  return new Uint8Array(await file.toBuffer());
}
