import sharp from 'sharp';
import type { EncodeOptions, TargetSearchResult } from '../../protocol.ts';
import { encodeLocalOutput } from '../../transport/output.ts';
import { type Pixels, splitFrames } from '../pixels/pixels.ts';
import { assertScoreMeasurable } from './measurable.ts';
import { computeSsim, lumaOf } from './ssim.ts';
import { computeSsimulacra2 } from './ssimulacra2.ts';

/**
 * A measure of the similarity between an encoded file and the original picture. The target of the search names the
 * measure.
 */
interface LikenessMetric {
  /** The parameter that requests this measure. */
  param: 'minSsim' | 'ssimulacra2';
  minValue: number;
  /** The name of the measure in the quality curves of the encoders. */
  quantity: 'likeness' | 'score';
  /** Encoder settings that suit the measure. */
  settings: Pick<EncodeOptions, 'chroma'> & { tune?: 'ssim' };
  /** The largest distance above the target at which a result is close enough, on the scale of `toEvenScale`. */
  tolerance: number;
  /** The value that the measure gives a picture when it is compared with itself. */
  valueOfIdentical: number;
  /** Measures how similar a file is to the picture, which has the same size. */
  measure(file: Uint8Array): Promise<number>;
  /** Maps a value to a scale that is about linear in the logarithm of the file size. */
  toEvenScale(value: number): number;
  /** Rounds down, so that the reported value is never above the measured one. */
  roundDown(value: number): number;
}

/** The least likeness that a search has to reach, by one of two measures. */
export type LikenessTarget = { minSsim: number } | { ssimulacra2: number };

/**
 * The smallest difference from 1 that is counted, so that the logarithm stays finite. Smaller differences are
 * invisible.
 */
const MIN_UNLIKENESS = 1e-7;

/** @throws PassRefusal invalid_param on `ssimulacra2` for a picture that is too small or too large to be measured. */
export function likenessMetricFor(pixels: Pixels, target: LikenessTarget): LikenessMetric {
  if ('minSsim' in target) return ssimMetric(pixels, target.minSsim);
  return ssimulacra2Metric(pixels, target.ssimulacra2);
}

/** The measured value under the field name of the API. */
export function measuredLikenessOf(
  { param, roundDown }: LikenessMetric,
  value: number,
): Pick<TargetSearchResult, 'ssim' | 'ssimulacra2'> {
  return param === 'minSsim' ? { ssim: roundDown(value) } : { ssimulacra2: roundDown(value) };
}

/** SSIM of the luma, of all frames at once. */
function ssimMetric(pixels: Pixels, minValue: number): LikenessMetric {
  const model = lumaOf(pixels.data, { ...pixels, height: pixels.height * pixels.frames });
  return {
    param: 'minSsim',
    minValue,
    quantity: 'likeness',
    // SSIM measures only brightness, so that subsampled colours do not lower it.
    settings: { tune: 'ssim', chroma: '4:2:0' },
    tolerance: 0.015,
    valueOfIdentical: 1,
    async measure(file) {
      const { data, info } = await decodeToPixels(file);
      return computeSsim(model, lumaOf(data, info));
    },
    toEvenScale: (value) => -Math.log(1 - value + MIN_UNLIKENESS),
    roundDown: (value) => Math.floor(value * 1e4) / 1e4,
  };
}

/** SSIMULACRA 2 of the frame that is least like its original. */
function ssimulacra2Metric(pixels: Pixels, minValue: number): LikenessMetric {
  assertScoreMeasurable(pixels);
  const models = splitFrames(pixels);
  return {
    param: 'ssimulacra2',
    minValue,
    quantity: 'score',
    settings: {},
    tolerance: 0.5,
    valueOfIdentical: 100,
    async measure(file) {
      const { data, info } = await decodeToPixels(file);
      const channels = info.channels as Pixels['channels'];
      const strip = { data, width: info.width, height: pixels.height, channels, frames: pixels.frames };
      const frames = splitFrames(strip);
      return Math.min(...frames.map((frame, index) => computeSsimulacra2(models[index] ?? frame, frame)));
    },
    toEvenScale: (value) => value,
    roundDown: (value) => Math.floor(value * 100) / 100,
  };
}

async function decodeToPixels(file: Uint8Array) {
  const pipeline = sharp(file, { pages: -1, limitInputPixels: false }).toColourspace('srgb');
  return encodeLocalOutput(pipeline.raw());
}
