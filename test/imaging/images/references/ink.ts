import type { Test } from 'tap';
import type { Raster } from '../../../workers/image/passes.ts';
import type { Ink } from './facts.ts';

/** From this share of ink on, a pixel counts as inked. */
const INKED = 0.25;

/** Holds the letters of a picture against where other letters lie: line by line, and by how much ink there is. */
export function assertInk(t: Test, { boxes, within, amount, share, ground }: Ink, picture: Raster): void {
  const ink = Float32Array.from(
    { length: picture.width * picture.height },
    (_, at) => ((picture.data[at * 4] ?? 0) - ground) / (255 - ground),
  );
  const found = boxesOf(picture, ink);
  const compared = `${JSON.stringify(found)} for ${JSON.stringify(boxes)}`;
  t.equal(found.length, boxes.length, `lines: ${compared}`);
  const distances = boxes.map((box, line) =>
    box.map((edge, at) => Math.abs(edge - (found[line]?.[at] ?? -1))),
  );
  const [across, down] = within;
  const isNear = ([left = 0, top = 0, right = 0, bottom = 0]: number[]) =>
    Math.max(left, right) <= across && Math.max(top, bottom) <= down;
  t.ok(distances.every(isNear), `within ${across} px across and ${down} down: ${compared}`);
  const sum = ink.reduce((all, one) => all + one, 0);
  t.ok(Math.abs(sum / amount - 1) <= share, `ink of ${sum.toFixed(1)} px for ${amount}`);
}

/** Rows without ink part lines. */
function boxesOf({ width, height }: Raster, ink: Float32Array): number[][] {
  const isInked = (share: number) => share >= INKED;
  const boxes: number[][] = [];
  let wasInked = false;
  for (let y = 0; y < height; y++) {
    const row = ink.subarray(y * width, (y + 1) * width);
    const [first, last] = [row.findIndex(isInked), row.findLastIndex(isInked)];
    if (first >= 0) {
      const [left = first, top = y, right = last] = (wasInked && boxes.pop()) || [];
      boxes.push([Math.min(left, first), top, Math.max(right, last), y]);
    }
    wasInked = first >= 0;
  }
  return boxes;
}
