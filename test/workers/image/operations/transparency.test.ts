// needs: pixels
import t from 'tap';
import { BLACK, BLUE, drawn, RED, WHITE } from '../passes.ts';
import { type Row, tryRows } from './rows.ts';

const clearLeft = await drawn(20, 20, (x) => (x < 10 ? [255, 255, 255, 0] : [255, 0, 0, 255]));

const ROWS: Row[] = [
  {
    step: ['flatten', { background: 'blue' }],
    input: clearLeft,
    pixels: [
      [0, 0, BLUE],
      [19, 0, RED],
    ],
  },
  {
    step: ['unflatten'],
    pixels: [
      [39, 19, [255, 255, 255, 0]],
      [0, 0, RED],
    ],
  },
  {
    step: ['removeAlpha'],
    input: clearLeft,
    pixels: [
      [0, 0, WHITE],
      [19, 0, RED],
    ],
  },
  { step: ['ensureAlpha', { alpha: 0.5 }], pixels: [[0, 0, [255, 0, 0, 128]]], within: 1 },
  {
    step: ['opacity', { opacity: 0.5 }],
    input: clearLeft,
    pixels: [
      [0, 0, [255, 255, 255, 0]],
      [19, 0, [255, 0, 0, 128]],
    ],
    within: 1,
  },
  {
    step: ['extractChannel', { channel: 'green' }],
    pixels: [
      [0, 0, BLACK],
      [39, 0, WHITE],
    ],
  },
  {
    step: ['extractChannel', { channel: 'alpha' }],
    input: clearLeft,
    pixels: [
      [0, 0, BLACK],
      [19, 0, WHITE],
    ],
  },
  {
    step: ['bandbool', { operator: 'and' }],
    pixels: [
      [0, 0, BLACK],
      [39, 19, WHITE],
    ],
  },
];

tryRows(t, ROWS);
