import sharp from 'sharp';
import t from 'tap';
import { drawn, meanDifference, type Raster, rasterOf } from './passes.ts';

const DIGITS = '4271930586420719';

interface Layout {
  name: string;
  /** Of a region of one digit. */
  width: number;
  height: number;
  /** From one region to the next. */
  pitch: number;
}

const LAYOUTS: Layout[] = [
  { name: 'one region a digit, side by side', width: 30, height: 48, pitch: 30 },
  { name: 'with some space between', width: 26, height: 48, pitch: 30 },
  { name: 'wider and higher', width: 65, height: 60, pitch: 65 },
  { name: 'higher than is filled', width: 34, height: 80, pitch: 40 },
  { name: 'far apart', width: 65, height: 70, pitch: 120 },
  { name: 'large and far apart', width: 100, height: 100, pitch: 130 },
];

/** Digits in a row, each drawn in the middle of its region, on white. */
async function written(text: string, { width, height, pitch }: Layout): Promise<Uint8Array> {
  const letters = await Promise.all(
    [...text].map(async (digit, index) => {
      const font = { text: `<span foreground="black">${digit}</span>`, font: 'sans 48', dpi: 72, rgba: true };
      const { data, info } = await sharp({ text: font }).png().toBuffer({ resolveWithObject: true });
      const left = 10 + index * pitch + Math.max(0, (width - info.width) >> 1);
      return { input: data, left, top: 10 + Math.max(0, (height - info.height) >> 1) };
    }),
  );
  const size = { width: 40 + text.length * pitch, height: height + 20 };
  const canvas = sharp({ create: { ...size, channels: 3, background: 'white' } });
  return new Uint8Array(await canvas.composite(letters).png().toBuffer());
}

for (const layout of LAYOUTS) {
  for (const style of ['blur', 'pixelate']) {
    t.test(`digits cannot be told from what ${style} leaves of them: ${layout.name}`, async (t) => {
      const { width, height, pitch } = layout;
      const covered = async (text: string) => {
        const regions = Array.from(text, (_, index) => ({ x: 10 + index * pitch, y: 10, width, height }));
        return rasterOf(await written(text, layout), [['redact', { regions, style }]]);
      };
      const regionOf = ({ at }: Raster, index: number): Raster => {
        const rows = Array.from({ length: height }, (_, y) =>
          Array.from({ length: width }, (_, x) => at(10 + index * pitch + x, 10 + y)),
        );
        return { data: Uint8Array.from(rows.flat(2)), width, height, at };
      };
      const secret = await covered(DIGITS);
      // Whoever knows font and place draws each digit sixteen times, covers it in the same way, and takes the nearest.
      const guesses = await Promise.all(
        [...'0123456789'].map((digit) => covered(digit.repeat(DIGITS.length))),
      );
      const told = [...DIGITS].filter((digit, index) => {
        const distances = guesses.map((guess) =>
          meanDifference(regionOf(secret, index), regionOf(guess, index)),
        );
        return distances.indexOf(Math.min(...distances)) === Number(digit);
      });
      t.ok(told.length <= 3, `${told.length} of ${DIGITS.length} are right`);
    });
  }
}

t.test('regions that lie near each other are covered as one, and nothing between them is', async (t) => {
  const picture = await drawn(300, 200, (x, y) => [(x * 5) % 256, (y * 3) % 256, (x + y) % 256]);
  const regions = [
    { x: 20, y: 20, width: 100, height: 110 },
    { x: 130, y: 60, width: 100, height: 110 },
  ];
  const before = await rasterOf(picture, []);
  for (const style of ['blur', 'pixelate']) {
    const { at } = await rasterOf(picture, [['redact', { regions, style }]]);
    t.same(at(125, 70), before.at(125, 70), `${style}: the gap is as it was`);
    t.same(at(200, 30), before.at(200, 30), `${style}: and so is a corner of the box around both`);
    const colours = new Set<string>();
    for (const { x, y, width, height } of regions) {
      for (let row = y; row < y + height; row++)
        for (let column = x; column < x + width; column++) colours.add(at(column, row).join());
    }
    if (style === 'pixelate') t.ok(colours.size <= 9, `${colours.size} colours are left of both`);
  }
});
