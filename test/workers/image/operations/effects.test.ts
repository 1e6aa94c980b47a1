// needs: pixels
import t from 'tap';
import { BLACK, BLUE, drawn, GREEN, RED, WHITE } from '../passes.ts';
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
