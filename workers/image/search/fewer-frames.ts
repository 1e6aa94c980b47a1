import { LOSSLESS_ANIMATION_EFFORT } from '../encode/effort.ts';
import { encodeSample, type SearchedPicture, searchEffortOptions } from './encodings.ts';
import { filterFrames, takeTrialSample } from './sample.ts';
import type { EncoderSetting } from './settings.ts';
import { completesInTime, REACHED_TARGET_RESERVE_MS } from './time.ts';

/**
 * The share of the allowed bytes that the file of a scaled-down picture, or of an animation with fewer frames, should
 * take.
 */
export const SAFE_SIZE_SHARE = 0.8;
/**
 * The share of the allowed bytes that a drawing should take according to a sample. It is smaller than SAFE_SIZE_SHARE,
 * because drawings with scattered changes take twice the estimate.
 */
const SAFE_SAMPLE_SIZE_SHARE = 0.5;
/**
 * If the kept frames have at most this many pixels together, they are encoded completely. More are estimated by a
 * sample.
 */
const MAX_WHOLLY_ENCODED_PX = 6_000_000;
/** The distances between two kept frames that are tried. */
const FRAME_DISTANCES = [1, 2, 3, 4, 6, 8, 11, 15, 20, 28, 40, 60, 100];

/**
 * The share of the frames of an animation that fits into a number of bytes. Files with fewer frames are encoded to
 * measure it. It cannot be computed, because a file with half of the frames may take half of the bytes, or nearly all
 * of them. The measurement ends early enough for the response. If no measured number of frames has fitted by then, the
 * share is estimated from the fewest frames that were measured.
 * @param settings the settings that write an acceptable file. The smallest of their files counts.
 * @param areTooMany whether all frames together are known to take too many bytes.
 * @returns undefined if there was no time to measure anything.
 */
export async function fittingShareOfFrames(
  search: SearchedPicture,
  settings: readonly EncoderSetting[],
  limitBytes: number,
  areTooMany: boolean,
): Promise<number | undefined> {
  const { pixels, encode, clock, deadlineMs } = search;
  const { frames } = pixels;
  const distances = FRAME_DISTANCES.filter(
    (distance) => 2 * distance <= frames && !(areTooMany && distance === 1),
  );
  /**
   * The size of the smallest file, as a share of the bytes that it should take at most. Above 1, it may be too large.
   */
  const sizeShareAt = async (distance: number) => {
    const fewer = filterFrames(pixels, (frame) => frame % distance === 0);
    const isSmall = fewer.width * fewer.height * fewer.frames <= MAX_WHOLLY_ENCODED_PX;
    const all = { pixels: fewer, bytesRatio: 1, timeRatio: 1 };
    const sample = (isSmall ? undefined : takeTrialSample(fewer, 'size')) ?? all;
    let smallest = Number.POSITIVE_INFINITY;
    for (const setting of settings) {
      const effort = setting.lossless
        ? LOSSLESS_ANIMATION_EFFORT
        : searchEffortOptions(encode, pixels).effort;
      const tried = {
        ...search,
        pixels: fewer,
        encode: { ...encode, ...(effort !== undefined && { effort }) },
      };
      const { bytes } = await encodeSample(tried, sample, setting);
      const isRough = setting.lossless === true && sample !== all;
      smallest = Math.min(
        smallest,
        bytes / ((isRough ? SAFE_SAMPLE_SIZE_SHARE : SAFE_SIZE_SHARE) * limitBytes),
      );
      if (smallest <= 1) break;
    }
    return smallest;
  };
  let [low, high] = [0, distances.length];
  let lastCpuMs = 0;
  const endMs = deadlineMs - REACHED_TARGET_RESERVE_MS;
  let estimate: number | undefined;
  await completesInTime(async () => {
    while (low < high && clock.nowMs() + clock.expectedMs(2 * lastCpuMs) < endMs) {
      const beganCpuMs = clock.cpuMs();
      const middle = (low + high) >> 1;
      const distance = distances[middle] as number;
      const sizeShare = await sizeShareAt(distance);
      if (sizeShare <= 1) high = middle;
      else {
        low = middle + 1;
        estimate = 1 / (distance * sizeShare);
      }
      lastCpuMs = clock.cpuMs() - beganCpuMs;
    }
    return true;
  });
  const distance = distances[high];
  if (distance !== undefined) return Math.ceil(frames / distance) / frames;
  return low < high ? estimate : 1 / frames;
}
