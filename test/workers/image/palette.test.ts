// needs: pixels, alone
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { paletteOf } from '../../../workers/image/facts/palette.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import type { PixelSample } from '../../../workers/image/pixels/pixels.ts';
import type { PaletteColour } from '../../../workers/protocol.ts';

type Colour = [red: number, green: number, blue: number, alpha?: number];

/** A picture of one row whose pixels are runs of colours. */
function row(...runs: [colour: Colour, pixels: number][]): PixelSample {
  const channels = runs.some(([colour]) => colour.length === 4) ? 4 : 3;
  const data = Uint8Array.from(
    runs.flatMap(([[red, green, blue, alpha = 255], pixels]) => {
      const pixel = channels === 4 ? [red, green, blue, alpha] : [red, green, blue];
      return Array.from({ length: pixels }, () => pixel).flat();
    }),
  );
  return { data, width: data.length / channels, height: 1, channels };
}

async function paletteIn(picture: Sharp, palette: number): Promise<PaletteColour[]> {
  const described = await describeImage(new Uint8Array(await picture.toBuffer()), undefined, { palette });
  if (described.kind === 'failure') throw new Error(described.message);
  return described.image.palette ?? [];
}

const sumOf = (palette: readonly PaletteColour[]) => palette.reduce((sum, { share }) => sum + share, 0);

/** Halves of two colours, left and right. */
function halves(left: string, right: string, width: number, height: number): Sharp {
  const half = { create: { width: width / 2, height, channels: 3, background: right } } as const;
  return sharp({ create: { width, height, channels: 3, background: left } }).composite([
    { input: half, left: width / 2, top: 0 },
  ]);
}

t.test('a picture of few colours answers exactly these, with their shares', (t) => {
  const two = row([[255, 0, 0], 3], [[0, 0, 255], 1]);
  const expected = [
    { color: '#ff0000', share: 0.75 },
    { color: '#0000ff', share: 0.25 },
  ];
  for (const count of [2, 5, 12]) t.same(paletteOf(two, count), expected, `${count}`);
  t.same(
    paletteOf(row([[16, 16, 16], 1], [[17, 16, 16], 2]), 2).map(({ color }) => color),
    ['#111010', '#101010'],
    'however alike they are',
  );
  t.same(paletteOf(row([[1, 2, 3], 7]), 12), [{ color: '#010203', share: 1 }]);
  const thirds = paletteOf(row([[0, 0, 0], 1], [[90, 90, 90], 1], [[255, 255, 255], 1]), 3);
  t.equal(sumOf(thirds), 1, 'rounded shares sum to 1');
  t.same(
    thirds.map(({ color }) => color),
    ['#000000', '#5a5a5a', '#ffffff'],
    'equal shares by colour',
  );
  t.end();
});

t.test('pixels count by their opacity, and invisible ones have no colour', (t) => {
  const veiled = row([[255, 0, 0, 255], 1], [[0, 255, 0, 0], 100], [[0, 0, 255, 85], 1]);
  t.same(paletteOf(veiled, 5), [
    { color: '#ff0000', share: 0.75 },
    { color: '#0000ff', share: 0.25 },
  ]);
  t.same(paletteOf(row([[9, 9, 9, 0], 4]), 5), [], 'nothing is visible');
  t.end();
});

t.test('more colours than were asked for are gathered to the ones that differ most', (t) => {
  const shades = (base: Colour, pixels: number) =>
    Array.from({ length: 8 }, (_, at): [Colour, number] => [
      [base[0] + at, base[1] + at, base[2] + at] as Colour,
      pixels,
    ]);
  const sky = row(...shades([90, 150, 220], 60), ...shades([30, 90, 30], 30), ...shades([200, 40, 40], 10));
  const palette = paletteOf(sky, 12);
  t.equal(palette.length, 3, 'shades that can hardly be told apart are one colour');
  t.same(
    palette.map(({ share }) => share),
    [0.6, 0.3, 0.1],
  );
  for (const [index, base] of [
    [90, 150, 220],
    [30, 90, 30],
    [200, 40, 40],
  ].entries()) {
    const color = Number.parseInt(palette[index]?.color.slice(1) ?? '', 16);
    for (const [at, shift] of [16, 8, 0].entries()) {
      const off = ((color >> shift) & 255) - (base[at] ?? 0);
      t.ok(off >= 0 && off <= 7, `${palette[index]?.color}`);
    }
  }
  t.equal(paletteOf(sky, 2).length, 2);
  t.same(paletteOf(sky, 3), paletteOf(sky, 3), 'the same pixels get the same palette');
  t.end();
});

t.test('two flat colours stay two in a large picture, and in a JPEG', async (t) => {
  const large = await paletteIn(halves('#204060', '#e0c080', 3000, 1000).png(), 6);
  t.same(large.map(({ color }) => color).sort(), ['#204060', '#e0c080'], 'the edge is no colour of its own');
  t.ok(large.every(({ share }) => Math.abs(share - 0.5) < 0.01));
  const lossy = await paletteIn(halves('#204060', '#e0c080', 640, 480).jpeg({ quality: 80 }), 3);
  t.equal(lossy.length, 2, JSON.stringify(lossy));
});

t.test('a palette is measured only when it is asked for', async (t) => {
  const file = new Uint8Array(await halves('red', 'blue', 20, 10).png().toBuffer());
  const described = await describeImage(file.slice());
  t.notOk(described.kind === 'described' && 'palette' in described.image);
  const gradient = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"><defs><linearGradient id="g"><stop offset="0" stop-color="red"/><stop offset="1" stop-color="blue"/></linearGradient></defs><rect width="400" height="300" fill="url(#g)"/></svg>',
  );
  for (const count of [2, 5, 12]) {
    const palette = await paletteIn(sharp(gradient).png(), count);
    t.ok(palette.length <= count && palette.length >= Math.min(count, 8), `${palette.length} of ${count}`);
    t.ok(Math.abs(sumOf(palette) - 1) < 1e-9);
    t.ok(palette.every(({ share }, at) => share > 0 && share <= (palette[at - 1]?.share ?? 1)));
  }
});

t.test('the bright colours of a photograph are not mixed with its dark ones', async (t) => {
  for (const count of [5, 6, 8]) {
    const palette = await paletteIn(sharp('docs/gallery/sources/macaws.jpg'), count);
    t.equal(palette.length, count);
    const has = (isIt: (red: number, green: number, blue: number) => boolean) =>
      palette.some(({ color }) => {
        const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
        return isIt(red as number, green as number, blue as number);
      });
    t.ok(
      has((red, green, blue) => red > 170 && green < 90 && blue < 90),
      `red among ${count}`,
    );
    t.ok(
      has((red, green, blue) => red > 200 && green > 160 && blue < 60),
      `yellow among ${count}`,
    );
  }
});
