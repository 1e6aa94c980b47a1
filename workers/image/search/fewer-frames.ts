import { LOSSLESS_ANIMATION_EFFORT } from '../encode/effort.ts';
import { effortOf, encodeSample, type SearchedPicture } from './encodings.ts';
import { selectFrames, takeTrialSample } from './sample.ts';
import type { EncoderSetting } from './settings.ts';
import { completesInTime, MIN_TRIAL_TIME_MS } from './time.ts';

/** The share of the allowed bytes that the file of a scaled-down picture, or of fewer frames, should take. */
export const SURE_SIZE_SHARE = 0.8;
/** The same share by a sample of a drawing, because drawings whose changes are scattered take twice the estimate. */
const SURE_SAMPLE_SHARE = 0.5;
/** The most pixels of fewer frames that are encoded completely and not only by a sample. */
const MAX_MEASURED_PX = 6_000_000;
/** The distances between two kept frames that are tried. */
const FRAME_DISTANCES = [1, 2, 3, 4, 6, 8, 11, 15, 20, 28, 40, 60, 100];

/**
 * The share of the frames of an animation whose file surely fits into a number of bytes. It is measured by samples of
 * fewer frames, because with a half of the frames a file may take a half of the bytes, or nearly all of them. The
 * measuring ends in time for the response.
 * @param settings the settings that write an acceptable file. The smallest of their files counts.
 * @param areTooMany whether all frames together are known to take too many bytes.
 * @returns undefined if there was no time to measure it.
 */
export async function fittingShareOfFrames(
  search: SearchedPicture,
  settings: readonly EncoderSetting[],
  limitBytes: number,
  areTooMany: boolean,
): Promise<number | undefined> {
  const { pixels, encode, nowMs, deadlineMs } = search;
  const { frames } = pixels;
  const distances = FRAME_DISTANCES.filter(
    (distance) => 2 * distance <= frames && !(areTooMany && distance === 1),
  );
  const fits = async (distance: number) => {
    const fewer = selectFrames(pixels, (frame) => frame % distance === 0);
    const isSmall = fewer.width * fewer.height * fewer.frames <= MAX_MEASURED_PX;
    const all = { pixels: fewer, bytesRatio: 1, timeRatio: 1 };
    const sample = (isSmall ? undefined : takeTrialSample(fewer, 'size')) ?? all;
    for (const setting of settings) {
      const effort = setting.lossless ? LOSSLESS_ANIMATION_EFFORT : effortOf(encode, pixels).effort;
      const tried = {
        ...search,
        pixels: fewer,
        encode: { ...encode, ...(effort !== undefined && { effort }) },
      };
      const { bytes } = await encodeSample(tried, sample, setting);
      const isRough = setting.lossless === true && sample !== all;
      if (bytes <= (isRough ? SURE_SAMPLE_SHARE : SURE_SIZE_SHARE) * limitBytes) return true;
    }
    return false;
  };
  let [low, high] = [0, distances.length];
  let lastMs = 0;
  await completesInTime(async () => {
    while (low < high && nowMs() + 2 * lastMs < deadlineMs - MIN_TRIAL_TIME_MS) {
      const startedMs = nowMs();
      const middle = (low + high) >> 1;
      if (await fits(distances[middle] as number)) high = middle;
      else low = middle + 1;
      lastMs = nowMs() - startedMs;
    }
    return true;
  });
  const distance = distances[high];
  if (distance !== undefined) return Math.ceil(frames / distance) / frames;
  return low < high ? undefined : 1 / frames;
}
