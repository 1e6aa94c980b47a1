// needs: pixels
import t from 'tap';
import { BLACK, BLUE, drawn, RED, WHITE } from '../passes.ts';
import { type Row, tryRows } from './rows.ts';

const clearLeft = await drawn(20, 20, (x) => (x < 10 ? [255, 255, 255, 0] : [255, 0, 0, 255]));
const halfRed = await drawn(4, 4, () => [255, 0, 0, 128]);
const ramp = await drawn(256, 4, (x) => [x, x, x]);

const ROWS: Row[] = [
  {
    step: ['greyscale'],
    pixels: [
      [39, 19, WHITE],
      [0, 0, [127, 127, 127, 255]],
    ],
    within: 1,
  },
  {
    step: ['negate'],
    pixels: [
      [0, 0, [0, 255, 255, 255]],
      [39, 19, BLACK],
    ],
  },
  { step: ['negate'], input: clearLeft, pixels: [[19, 0, [0, 255, 255, 255]]] },
  {
    step: ['gamma', { gamma: 2 }],
    input: ramp,
    pixels: [
      [64, 0, [128, 128, 128, 255]],
      [0, 0, BLACK],
      [255, 0, WHITE],
    ],
    within: 1,
  },
  { step: ['linear', { a: 0.5, b: 10 }], input: ramp, pixels: [[100, 0, [60, 60, 60, 255]]] },
  {
    step: ['normalise', { lower: 0, upper: 100 }],
    input: await drawn(64, 4, (x) => [64 + x, 64 + x, 64 + x]),
    pixels: [
      [0, 0, BLACK],
      [63, 0, WHITE],
    ],
    within: 4,
  },
  {
    step: [
      'recomb',
      {
        matrix: [
          [0, 1, 0],
          [0, 0, 1],
          [1, 0, 0],
        ],
      },
    ],
    pixels: [
      [0, 0, BLUE],
      [39, 0, RED],
    ],
  },
  {
    step: ['gamma', { gamma: 3 }],
    input: ramp,
    pixels: [
      [255, 0, WHITE],
      [32, 0, [128, 128, 128, 255]],
      [0, 0, BLACK],
    ],
  },
  { step: ['gamma', { gamma: 3 }], input: halfRed, pixels: [[0, 0, [255, 0, 0, 128]]] },
  {
    step: ['modulate', { brightness: 0 }],
    pixels: [
      [0, 0, BLACK],
      [39, 0, BLACK],
      [0, 19, BLACK],
      [39, 19, BLACK],
    ],
  },
  {
    step: ['modulate', { lightness: -100 }],
    pixels: [
      [0, 0, BLACK],
      [0, 19, BLACK],
      [39, 19, BLACK],
    ],
  },
  { step: ['modulate', { brightness: 0.5 }], pixels: [[39, 19, [119, 119, 119, 255]]], within: 1 },
  { step: ['modulate', { saturation: 0 }], pixels: [[39, 19, WHITE]], within: 1 },
  { step: ['modulate', { hue: 120 }], size: [40, 20] },
  { step: ['tint', { color: 'red' }], size: [40, 20] },
  {
    step: ['duotone', { dark: '#100020', light: '#ffe000' }],
    input: ramp,
    pixels: [
      [0, 0, [16, 0, 32, 255]],
      [255, 0, [255, 224, 0, 255]],
    ],
    within: 1,
  },
  {
    step: ['threshold', { threshold: 128 }],
    input: ramp,
    pixels: [
      [127, 0, BLACK],
      [128, 0, WHITE],
    ],
  },
  {
    step: ['threshold', { threshold: 128 }],
    input: await drawn(4, 1, (x) => [x * 80, x * 80, x * 80, x * 70]),
    pixels: [
      [0, 0, [0, 0, 0, 0]],
      [1, 0, [0, 0, 0, 70]],
      [2, 0, [255, 255, 255, 140]],
      [3, 0, [255, 255, 255, 210]],
    ],
  },
  {
    step: ['threshold', { threshold: 128, greyscale: false }],
    input: halfRed,
    pixels: [[0, 0, [255, 0, 0, 128]]],
  },
  { step: ['threshold', { threshold: 0 }], input: halfRed, pixels: [[0, 0, [255, 255, 255, 128]]] },
  { step: ['threshold', { threshold: 0 }], input: ramp, pixels: [[0, 0, WHITE]] },
  {
    step: ['toColourspace', { space: 'b-w' }],
    pixels: [
      [39, 19, WHITE],
      [0, 0, [127, 127, 127, 255]],
    ],
    within: 1,
  },
];

tryRows(t, ROWS);
