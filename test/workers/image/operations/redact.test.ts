// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { image, needsImages } from '../../../support/images.ts';
import { drawn, type Raster, raster, rasterOf } from '../passes.ts';

const corpus = needsImages(t);

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

function apart(one: number[], other: number[]): number {
  return one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0);
}

for (const layout of LAYOUTS) {
  for (const style of ['blur', 'pixelate']) {
    t.test(`digits cannot be told from what ${style} leaves of them: ${layout.name}`, async (t) => {
      const { width, height, pitch } = layout;
      const covered = async (text: string) => {
        const regions = Array.from(text, (_, index) => ({ x: 10 + index * pitch, y: 10, width, height }));
        return rasterOf(await written(text, layout), [['redact', { regions, style }]]);
      };
      // Every fifth pixel tells as much as all of them.
      const looksAt = ({ at }: Raster, index: number) =>
        Array.from({ length: (width / 5) | 0 }, (_, x) =>
          Array.from(
            { length: (height / 5) | 0 },
            (_, y) => at(10 + index * pitch + x * 5, 10 + y * 5)[0] ?? 0,
          ),
        ).flat();
      const secret = await covered(DIGITS);
      // Whoever knows font and place draws each digit sixteen times, covers it in the same way, and takes the nearest.
      const guesses = await Promise.all(
        [...'0123456789'].map((digit) => covered(digit.repeat(DIGITS.length))),
      );
      const told = [...DIGITS].filter((digit, index) => {
        const distances = guesses.map((guess) => apart(looksAt(secret, index), looksAt(guess, index)));
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

for (const style of ['blur', 'pixelate']) {
  t.test(`redact ${style} leaves nothing of what lay under it`, corpus, async (t) => {
    const region = { x: 300, y: 200, width: 96, height: 64 };
    const result = await rasterOf(image('photos/kodak-4.png'), [['redact', { regions: [region], style }]]);
    const original = await raster(image('photos/kodak-4.png'));
    const inverted = await sharp(original.data, { raw: { width: 768, height: 512, channels: 4 } })
      .extract({ left: 300, top: 200, width: 96, height: 64 })
      .raw()
      .toBuffer();
    const colours = new Set<string>();
    let same = 0;
    for (let y = 0; y < 64; y++) {
      for (let x = 0; x < 96; x++) {
        colours.add(result.at(300 + x, 200 + y).join());
        if (
          result.at(300 + x, 200 + y).join() ===
          [...inverted.subarray((y * 96 + x) * 4, (y * 96 + x) * 4 + 4)].join()
        )
          same++;
      }
    }
    t.ok(same < 96 * 64 * 0.02, `${same} pixels are as they were`);
    if (style === 'pixelate') t.ok(colours.size <= 48, `${colours.size} blocks`);
    t.same(result.at(299, 200), original.at(299, 200), 'beside it nothing changed');
  });
}

t.test(
  'a redacted region of one or few pixels is gone in every style, and so is every edge of a larger one',
  async (t) => {
    const noise = (x: number, y: number) => [
      (x * 97 + y * 31) % 256,
      (x * 53 + y * 211) % 256,
      (x * y * 7) % 256,
    ];
    const picture = await drawn(64, 64, noise);
    const regions = [
      { x: 5, y: 5, width: 1, height: 1 },
      { x: 10, y: 5, width: 3, height: 5 },
      { x: 20, y: 20, width: 13, height: 13 },
      { x: 2, y: 40, width: 25, height: 1 },
    ];
    for (const style of ['blur', 'pixelate']) {
      const { at } = await rasterOf(picture, [['redact', { regions, style, color: '#123456' }]]);
      t.same(at(5, 5), [0x12, 0x34, 0x56, 255], `${style}: a single pixel`);
      for (const { x: left, y: top, width, height } of regions) {
        for (let y = top; y < top + height; y++) {
          for (let x = left; x < left + width; x++) {
            const alone = at(x, y).join() === [...noise(x, y), 255].join();
            if (alone) t.fail(`${style}: pixel ${x}, ${y} is as it was`);
          }
        }
      }
      t.same(at(6, 5), [...noise(6, 5), 255], `${style}: what lies beside is as it was`);
    }
  },
);
