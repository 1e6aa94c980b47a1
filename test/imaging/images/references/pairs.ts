/** A picture and what became of it, as 8-bit RGB. */
interface Pair {
  width: number;
  height: number;
  model(x: number, y: number): number[];
  /** @param model a pixel of the model at any place; beyond the edges, the nearest. */
  copy(x: number, y: number, model: (x: number, y: number) => number[]): number[];
}

/** Smooth colours of several frequencies. */
const waves = (x: number, y: number) =>
  [
    128 + 100 * Math.sin(x / 5) * Math.cos(y / 7),
    128 + 90 * Math.sin((x + y) / 9),
    128 + 110 * Math.cos(x / 3 - y / 11),
  ].map(Math.round);
/** Noise that is the same each time, with an edge across. */
const texture = (x: number, y: number) => {
  const noise = ((x * 7919 + y * 104729 + ((x * y) % 61) * 31) % 97) - 48;
  const ground = x + y > 90 ? 190 : 60;
  return [ground + noise / 2, ground + noise / 3, ground - noise / 2].map((value) => Math.round(value));
};

/** What encoders do to pictures, each by itself, from hardly seen to very bad. */
export const PAIRS: Readonly<Record<string, Pair>> = {
  'waves, one level brighter': {
    width: 160,
    height: 120,
    model: waves,
    copy: (x, y, model) => model(x, y).map((value) => Math.min(255, value + 1)),
  },
  'waves in steps of 8': {
    width: 160,
    height: 120,
    model: waves,
    copy: (x, y, model) => model(x, y).map((value) => value - (value % 8)),
  },
  'waves in blocks of 4': {
    width: 161,
    height: 119,
    model: waves,
    copy: (x, y, model) => model(x - (x % 4), y - (y % 4)),
  },
  'texture, blurred': {
    width: 200,
    height: 90,
    model: texture,
    copy: (x, y, model) => {
      const near = [model(x - 1, y), model(x, y), model(x + 1, y)];
      return [0, 1, 2].map((channel) =>
        Math.round(near.reduce((sum, pixel) => sum + (pixel[channel] as number), 0) / 3),
      );
    },
  },
  'texture with coarse colours': {
    width: 200,
    height: 90,
    model: texture,
    copy: (x, y, model) => {
      const [light, colour] = [model(x, y), model(x - (x % 2), y - (y % 2))];
      return [0, 1, 2].map((channel) =>
        Math.round(((light[channel] as number) + (colour[channel] as number)) / 2),
      );
    },
  },
  'texture with rings': {
    width: 64,
    height: 64,
    model: texture,
    copy: (x, y, model) => model(x, y).map((value) => Math.max(0, Math.min(255, value + 6 * (-1) ** x))),
  },
  'a strip of 9 rows, in steps of 16': {
    width: 300,
    height: 9,
    model: waves,
    copy: (x, y, model) => model(x, y).map((value) => value - (value % 16)),
  },
};

export function pairNamed(name: string) {
  const { width, height, model, copy } = PAIRS[name] as Pair;
  const clamped = (x: number, y: number) =>
    model(Math.max(0, Math.min(width - 1, x)), Math.max(0, Math.min(height - 1, y)));
  const raster = (pixel: (x: number, y: number) => number[]) => {
    const data = new Uint8Array(width * height * 3);
    for (let at = 0; at < width * height; at++) data.set(pixel(at % width, Math.floor(at / width)), at * 3);
    return { data, width, height, channels: 3 };
  };
  return { model: raster(clamped), copy: raster((x, y) => copy(x, y, clamped)) };
}
