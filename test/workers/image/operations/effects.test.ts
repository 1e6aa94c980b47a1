// needs: pixels
import t from 'tap';
import { BLACK, BLUE, drawn, GREEN, RED, rasterOf, WHITE } from '../passes.ts';
import { type Row, tryRows } from './rows.ts';

const ROWS: Row[] = [
  {
    step: ['blur', { sigma: 2 }],
    pixels: [
      [0, 0, RED],
      [20, 2, [128, 128, 0, 255]],
    ],
    within: 40,
  },
  { step: ['sharpen', { sigma: 1 }], pixels: [[2, 2, RED]] },
  {
    step: ['median', { size: 3 }],
    input: await drawn(9, 9, (x, y) => (x === 4 && y === 4 ? [255, 255, 255] : [0, 0, 0])),
    pixels: [[4, 4, BLACK]],
  },
  {
    step: ['erode', { width: 1 }],
    input: await drawn(9, 9, (x, y) => (x === 4 && y === 4 ? [255, 255, 255] : [0, 0, 0])),
    pixels: [
      [5, 4, WHITE],
      [7, 4, BLACK],
    ],
  },
  {
    step: ['dilate', { width: 1 }],
    input: await drawn(9, 9, (x, y) => (x === 4 && y === 4 ? [0, 0, 0] : [255, 255, 255])),
    pixels: [
      [5, 4, BLACK],
      [7, 4, WHITE],
    ],
  },
  {
    step: ['convolve', { width: 3, height: 3, kernel: [0, 0, 0, 1, 0, 0, 0, 0, 0] }],
    pixels: [
      [20, 2, RED],
      [21, 2, GREEN],
    ],
  },
  { step: ['clahe', { width: 8, height: 8 }], size: [40, 20] },
  {
    step: ['pixelate', { size: 40 }],
    pixels: [
      [0, 0, [128, 128, 128, 255]],
      [39, 19, [128, 128, 128, 255]],
    ],
  },
  {
    step: ['redact', { regions: [{ x: 0, y: 0, width: 10, height: 10 }] }],
    pixels: [
      [0, 0, BLACK],
      [9, 9, BLACK],
      [10, 0, RED],
      [0, 10, BLUE],
    ],
  },
  {
    step: ['redact', { regions: [{ x: 30, y: 10, width: 100, height: 100 }], color: '#f000' }],
    pixels: [
      [39, 19, RED],
      [29, 19, WHITE],
    ],
  },
  {
    step: ['placeholder', { kind: 'color' }],
    size: [1, 1],
    pixels: [[0, 0, [128, 128, 128, 255]]],
    within: 2,
  },
  { step: ['placeholder', { kind: 'pixel' }], size: [8, 4] },
  { step: ['placeholder', { kind: 'blur' }], size: [32, 16] },
];

tryRows(t, ROWS);

/** Blurs a line of values by the whole kernel, with its ends repeated outwards. */
function blurredLine(line: readonly number[], sigma: number): number[] {
  const reach = Math.ceil(4 * sigma);
  const kernel = Array.from({ length: 2 * reach + 1 }, (_, at) =>
    Math.exp(-((at - reach) ** 2) / (2 * sigma ** 2)),
  );
  const total = kernel.reduce((sum, weight) => sum + weight, 0);
  const valueAt = (at: number) => line[Math.min(Math.max(at, 0), line.length - 1)] ?? 0;
  return line.map(
    (_, at) => kernel.reduce((sum, weight, k) => sum + weight * valueAt(at + k - reach), 0) / total,
  );
}

t.test('a picture that is narrower than a blur is blurred as by the whole kernel', async (t) => {
  for (const [width, height, sigma] of [
    [40, 30, 250],
    [240, 6, 60],
    [9, 160, 100],
    [400, 20, 120],
    [1, 50, 20],
  ] as const) {
    const grey = (x: number, y: number) => (x < width / 3 ? 255 : y < height / 3 ? 128 : 0);
    const rows = Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => grey(x, y)),
    );
    const across = rows.map((row) => blurredLine(row, sigma));
    const columns = Array.from({ length: width }, (_, x) =>
      blurredLine(
        across.map((row) => row[x] ?? 0),
        sigma,
      ),
    );
    const file = await drawn(width, height, (x, y) => [grey(x, y), grey(x, y), grey(x, y)]);
    const made = await rasterOf(file, [['blur', { sigma }]]);
    let most = 0;
    for (let x = 0; x < width; x += 1)
      for (let y = 0; y < height; y += 1)
        most = Math.max(most, Math.abs((made.at(x, y)[0] ?? 0) - (columns[x]?.[y] ?? 0)));
    t.ok(most <= 4, `${width} x ${height} by ${sigma}: ${most} levels`);
  }
});

t.test('a blur that is wider than a picture takes no colour of what is transparent', async (t) => {
  const file = await drawn(30, 20, (x) => (x < 15 ? [0, 0, 0, 0] : [255, 0, 0, 255]));
  const { at } = await rasterOf(file, [['blur', { sigma: 200 }]]);
  const [red = 0, green, blue, opacity = 0] = at(4, 10);
  t.ok(red >= 250 && opacity > 100 && opacity < 150, `${red}, ${opacity}`);
  t.same([green, blue], [0, 0]);
});
