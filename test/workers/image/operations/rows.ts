import type { Test } from 'tap';
import { CLEAR, quarters, rasterOf, type StepText } from '../passes.ts';

/** What an operation makes of a picture. */
export interface Row {
  step: StepText;
  /** Absent: `four`. */
  input?: Uint8Array;
  size?: [width: number, height: number];
  /** Pixels, with what may be lost to rounding. */
  pixels?: [x: number, y: number, rgba: number[]][];
  within?: number;
}

/** 40 x 20: red, green over blue, white. */
export const four = await quarters(40, 20);

/** Runs each row as its own test. */
export function tryRows(t: Test, rows: readonly Row[]): void {
  for (const { step, input = four, size, pixels = [], within = 0 } of rows) {
    t.test(`${step[0]} ${JSON.stringify(step[1] ?? {})}`, async (t) => {
      const result = await rasterOf(input, [step]);
      if (size !== undefined) t.same([result.width, result.height], size, 'size');
      for (const [x, y, expected] of pixels) {
        const actual = result.at(x, y);
        // What colour a fully transparent pixel has, nobody sees.
        const compared = expected === CLEAR ? actual.slice(3) : actual;
        const against = expected === CLEAR ? [0] : expected;
        const off = Math.max(...compared.map((value, index) => Math.abs(value - (against[index] as number))));
        t.ok(off <= within, `${x}, ${y}: ${actual} is ${expected}`);
      }
    });
  }
}
