import type { Size } from '../pixels/geometry.ts';

/** Number of column waves that are summed in one pass over the pixels. */
const WAVES_PER_PASS = 4;

/**
 * The sums of a channel, weighted by one wave along its rows and by each of several waves down its columns. The pixels
 * are added in order, with the wave of the row applied first, so the sums equal the reference's to the last bit.
 */
export function waveSums(
  channel: Float64Array,
  { width, height }: Size,
  along: Float64Array,
  downs: readonly Float64Array[],
): number[] {
  const sums: number[] = [];
  while (sums.length < downs.length) {
    const [one, two = one, three = one, four = one] = downs.slice(sums.length, sums.length + WAVES_PER_PASS);
    if (one === undefined || two === undefined || three === undefined || four === undefined) break;
    let first = 0;
    let second = 0;
    let third = 0;
    let fourth = 0;
    for (let y = 0, at = 0; y < height; y++) {
      const byOne = one[y] as number;
      const byTwo = two[y] as number;
      const byThree = three[y] as number;
      const byFour = four[y] as number;
      for (let x = 0; x < width; x++, at++) {
        const weighted = (channel[at] as number) * (along[x] as number);
        first += weighted * byOne;
        second += weighted * byTwo;
        third += weighted * byThree;
        fourth += weighted * byFour;
      }
    }
    sums.push(first, second, third, fourth);
  }
  return sums.slice(0, downs.length);
}
