// needs: nothing
// needs: pixels
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { rasterOf, type StepText } from '../../workers/image/passes.ts';
import { type PictureName, pictureNamed } from './pictures.ts';

/** A few pixels that another implementation computed; compute.py says how. */
interface Fact {
  name: string;
  picture: PictureName;
  steps: StepText[];
  size: [width: number, height: number];
  /** The greatest difference that rounding may make. */
  within: number;
  /** The other implementation. */
  by: string;
  pixels: [x: number, y: number, value: number[]][];
}

const { facts } = JSON.parse(readFileSync(join(import.meta.dirname, 'facts.json'), 'utf8')) as {
  facts: Fact[];
};

for (const { name, picture, steps, size, within, by, pixels } of facts) {
  t.test(`${name}, as by ${by}`, async (t) => {
    const { width, height, at } = await rasterOf(await pictureNamed(picture), steps);
    t.same([width, height], size);
    for (const [x, y, expected] of pixels) {
      const differences = expected.map((value, channel) => Math.abs(value - (at(x, y)[channel] ?? 0)));
      t.ok(Math.max(...differences) <= within, `${x}, ${y}: ${at(x, y)} for ${expected}`);
    }
  });
}
