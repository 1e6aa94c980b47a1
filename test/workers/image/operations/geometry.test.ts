// needs: pixels
import t from 'tap';
import { BLACK, BLUE, CLEAR, drawn, GREEN, made, passOf, RED, rasterOf, WHITE } from '../passes.ts';
import { type Row, tryRows } from './rows.ts';

const ROWS: Row[] = [
  {
    step: ['resize', { width: 20 }],
    within: 1,
    size: [20, 10],
    pixels: [
      [2, 2, RED],
      [17, 7, WHITE],
    ],
  },
  { step: ['resize', { height: 10 }], size: [20, 10] },
  { step: ['resize', { width: 10, height: 10 }], size: [10, 5] },
  { step: ['resize', { width: 10, height: 10, fit: 'outside' }], size: [20, 10] },
  { step: ['resize', { width: 10, height: 20, fit: 'fill' }], size: [10, 20] },
  { step: ['resize', { width: 80 }], size: [40, 20] },
  { step: ['resize', { width: 80, enlarge: true }], size: [80, 40] },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover' }],
    size: [10, 10],
    pixels: [
      [1, 1, RED],
      [8, 8, WHITE],
    ],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', gravity: 'west' }],
    within: 1,
    size: [10, 10],
    pixels: [
      [1, 1, RED],
      [7, 1, RED],
    ],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', gravity: 'east' }],
    size: [10, 10],
    pixels: [[1, 1, GREEN]],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', focalX: 0 }],
    within: 1,
    size: [10, 10],
    pixels: [[7, 1, RED]],
  },
  {
    step: ['resize', { width: 10, height: 10, fit: 'cover', focalX: 1, focalY: 0.5 }],
    pixels: [[1, 1, GREEN]],
  },
  { step: ['resize', { width: 80, height: 80, fit: 'cover' }], size: [20, 20] },
  {
    step: ['resize', { width: 30, height: 30, fit: 'contain' }],
    size: [30, 30],
    pixels: [
      [15, 1, CLEAR],
      [3, 9, RED],
      [15, 28, CLEAR],
    ],
  },
  {
    step: ['resize', { width: 30, height: 30, fit: 'contain', gravity: 'north', background: '#000' }],
    pixels: [
      [3, 1, RED],
      [3, 28, BLACK],
    ],
  },
  {
    step: ['extract', { left: 20, top: 0, width: 20, height: 10 }],
    size: [20, 10],
    pixels: [
      [0, 0, GREEN],
      [19, 9, GREEN],
    ],
  },
  {
    step: ['crop', { aspect: '1:1' }],
    size: [20, 20],
    pixels: [
      [0, 0, RED],
      [19, 19, WHITE],
    ],
  },
  {
    step: ['crop', { aspect: '1:2', gravity: 'southeast' }],
    size: [10, 20],
    pixels: [
      [0, 0, GREEN],
      [0, 19, WHITE],
    ],
  },
  { step: ['crop', { aspect: '4:1', focalY: 1 }], size: [40, 10], pixels: [[0, 0, BLUE]] },
  {
    step: ['rotate', { angle: 90 }],
    size: [20, 40],
    pixels: [
      [0, 0, BLUE],
      [19, 0, RED],
      [19, 39, GREEN],
    ],
  },
  {
    step: ['rotate', { angle: -90 }],
    size: [20, 40],
    pixels: [
      [0, 0, GREEN],
      [0, 39, RED],
    ],
  },
  {
    step: ['rotate', { angle: 180 }],
    size: [40, 20],
    pixels: [
      [0, 0, WHITE],
      [39, 0, BLUE],
    ],
  },
  { step: ['rotate', { angle: 360 }], size: [40, 20], pixels: [[0, 0, RED]] },
  { step: ['rotate', { angle: 45 }], pixels: [[0, 0, CLEAR]] },
  { step: ['rotate', { angle: 45, background: 'blue' }], pixels: [[0, 0, BLUE]] },
  { step: ['autoOrient'], size: [40, 20], pixels: [[0, 0, RED]] },
  {
    step: ['flip'],
    pixels: [
      [0, 0, BLUE],
      [39, 0, WHITE],
    ],
  },
  {
    step: ['flop'],
    pixels: [
      [0, 0, GREEN],
      [39, 0, RED],
    ],
  },
  {
    step: ['affine', { matrix: [1, 0, 0, 2], interpolator: 'nearest' }],
    size: [40, 40],
    pixels: [
      [0, 0, RED],
      [0, 39, BLUE],
    ],
  },
  {
    step: ['extend', { top: 3, left: 5 }],
    size: [45, 23],
    pixels: [
      [0, 0, CLEAR],
      [5, 3, RED],
    ],
  },
  { step: ['extend', { right: 4, background: 'lime' }], size: [44, 20], pixels: [[43, 19, GREEN]] },
  {
    step: ['extend', { left: 4, extendWith: 'copy' }],
    pixels: [
      [0, 0, RED],
      [0, 19, BLUE],
    ],
  },
  { step: ['extend', { right: 1, extendWith: 'repeat' }], pixels: [[40, 0, RED]] },
  { step: ['extend', { right: 1, extendWith: 'mirror' }], pixels: [[40, 0, GREEN]] },
  {
    step: ['border', { width: 4, color: 'blue' }],
    size: [48, 28],
    pixels: [
      [0, 0, BLUE],
      [4, 4, RED],
    ],
  },
  {
    step: ['border', { width: 4, color: 'blue', radius: 6 }],
    size: [48, 28],
    pixels: [
      [0, 0, CLEAR],
      [47, 27, CLEAR],
      [24, 0, BLUE],
    ],
  },
  {
    // The inner corners have the outer radius less the width: 20 - 5 around pixel 20, 20.
    step: ['border', { width: 5, color: 'blue', radius: 20 }],
    input: await drawn(100, 80, () => [255, 0, 0]),
    size: [110, 90],
    pixels: [
      [0, 0, CLEAR],
      [8, 8, BLUE],
      [101, 81, BLUE],
      [10, 10, RED],
      [5, 45, RED],
      [4, 45, BLUE],
      [55, 5, RED],
    ],
  },
  {
    // A share is one of each side of the frame, so that a square gets a ring.
    step: ['border', { width: 10, color: 'blue', radius: '50%' }],
    input: await drawn(80, 80, () => [255, 0, 0]),
    size: [100, 100],
    pixels: [
      [0, 0, CLEAR],
      [10, 10, CLEAR],
      [5, 50, BLUE],
      [20, 20, BLUE],
      [26, 26, RED],
      [50, 50, RED],
    ],
  },
  {
    step: ['border', { width: 5, color: '#0000ff80', radius: 20 }],
    input: await drawn(100, 80, () => [255, 0, 0]),
    pixels: [[8, 8, [0, 0, 255, 128]]],
  },
  {
    step: ['roundCorners', { radius: 120 }],
    input: await drawn(300, 200, () => [255, 0, 0]),
    // A pill: half circles of radius 100 at both ends.
    pixels: [
      [0, 100, RED],
      [101, 0, RED],
      [60, 12, RED],
      [60, 5, [255, 0, 0, 0]],
      [28, 28, [255, 0, 0, 0]],
      [31, 31, RED],
    ],
  },
  {
    step: ['roundCorners', { radius: 8192 }],
    input: await drawn(200, 300, () => [255, 0, 0]),
    pixels: [
      [28, 28, [255, 0, 0, 0]],
      [31, 31, RED],
      [0, 101, RED],
    ],
  },
  {
    step: ['roundCorners', { radius: 5 }],
    pixels: [
      [0, 0, [255, 0, 0, 0]],
      [39, 19, [255, 255, 255, 0]],
      [5, 5, RED],
    ],
  },
  {
    step: ['roundCorners', { radius: '50%' }],
    within: 1,
    pixels: [
      [1, 1, [255, 0, 0, 0]],
      [20, 0, GREEN],
      [10, 5, RED],
    ],
  },
];

tryRows(t, ROWS);

t.test('trim cuts the edges away', async (t) => {
  const framed = await drawn(30, 20, (x, y) =>
    x >= 5 && x < 15 && y >= 8 && y < 12 ? [255, 0, 0] : [255, 255, 255],
  );
  const { width, height } = await made(framed, passOf([['trim']]));
  t.same([width, height], [10, 4]);
  const kept = await rasterOf(framed, [['trim', { background: 'red' }]]);
  t.same([kept.width, kept.height], [30, 20], 'nothing is cut that is not the given background');
  const blank = await made(await drawn(8, 6, () => [9, 9, 9]), passOf([['trim']]));
  t.same([blank.width, blank.height], [8, 6], 'a picture of nothing but background stays');
});

t.test('trim keeps lines of one pixel, and trims a picture of one row', async (t) => {
  const boxes = [
    { left: 3, top: 4, width: 15, height: 1 },
    { left: 4, top: 2, width: 1, height: 12 },
    { left: 29, top: 19, width: 1, height: 1 },
  ];
  for (const box of boxes) {
    const { left, top, width, height } = box;
    const isInk = (x: number, y: number) => x >= left && x < left + width && y >= top && y < top + height;
    const file = await drawn(30, 20, (x, y) => (isInk(x, y) ? [255, 0, 0] : [255, 255, 255]));
    const trimmed = await made(file, passOf([['trim']]));
    t.same([trimmed.width, trimmed.height], [width, height], JSON.stringify(box));
  }
  const row = await drawn(9, 1, (x) => (x === 3 || x === 4 ? [255, 0, 0] : [255, 255, 255]));
  const trimmedRow = await made(row, passOf([['trim']]));
  t.same([trimmedRow.width, trimmedRow.height], [2, 1]);
});
