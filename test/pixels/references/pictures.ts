import sharp from 'sharp';

/**
 * Small pictures made by formulas, the same as in compute.py, so that what other implementations made of them can be
 * kept as numbers.
 */
const FORMULAS = {
  waves: () => (x: number, y: number) =>
    [
      128 + 100 * Math.sin(x / 5) * Math.cos(y / 7),
      128 + 90 * Math.sin((x + y) / 9),
      128 + 110 * Math.cos(x / 3 - y / 11),
    ].map(Math.round),
  edge: (width: number) => (x: number) => grey(x < Math.floor(width / 2) ? 0 : 255),
  lines: () => (x: number) => grey((x % 2) * 255),
  dull: (width: number, height: number, whites: number) => (x: number, y: number) => {
    const index = y * width + x;
    return grey(index >= width * height - whites ? 255 : 60 + Math.floor((index * 80) / (width * height)));
  },
} satisfies Record<string, (width: number, height: number, more: number) => Formula>;

type Formula = (x: number, y: number) => number[];

export type PictureName = [name: keyof typeof FORMULAS, width: number, height: number, more?: number];

function grey(value: number): number[] {
  return [value, value, value];
}

/** A picture as a PNG. */
export async function pictureNamed([name, width, height, more = 0]: PictureName): Promise<Uint8Array> {
  const pixel: Formula = FORMULAS[name](width, height, more);
  const indexes = Array.from({ length: width * height }, (_, index) => index);
  const data = Uint8Array.from(indexes.flatMap((index) => pixel(index % width, Math.floor(index / width))));
  return new Uint8Array(
    await sharp(data, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer(),
  );
}
