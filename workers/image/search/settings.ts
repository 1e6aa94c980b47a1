import type { OutputFormat } from '../../protocol.ts';
import { defaultQuality, type EncodeSettings } from '../encode/encoder.ts';

/** The encoder settings that every trial has in common. */
export type CommonEncoderSettings = EncodeSettings & { format: OutputFormat };

/** One of the settings of an encoder that a search tries. */
export interface EncoderSetting extends EncodeSettings {
  /**
   * The quality of the PNG palette to which a GIF is first reduced, because the GIF encoder has no palette sizes
   * between 16 and 256.
   */
  paletteQuality?: number;
  /** The number of values to which each colour channel is reduced; absent if it is not. */
  levels?: number;
}

/**
 * The settings for palettes of few colours. Without dithering, a file is smaller and more similar to the picture, but a
 * palette of few colours shows bands. The search therefore uses these settings only when no other setting is small
 * enough.
 */
const FEW_COLOUR_SETTINGS = [2, 4, 16].map((colors) => ({ colors, dither: 0 }));
/**
 * The qualities for which a palette of at most 256 colours is chosen. A lower quality needs fewer colours, and makes a
 * smaller file.
 */
const PALETTE_QUALITIES = [1, 5, 10, 20, 30, 40, 50, 60, 70];
const PNG_SETTINGS = [
  ...FEW_COLOUR_SETTINGS,
  ...[...PALETTE_QUALITIES, 100].map((quality) => ({ colors: 256, quality })),
];
const STILL_GIF_SETTINGS = [
  ...FEW_COLOUR_SETTINGS,
  ...PALETTE_QUALITIES.map((paletteQuality) => ({ colors: 256, dither: 0, paletteQuality })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];
const ANIMATED_GIF_SETTINGS = [
  ...FEW_COLOUR_SETTINGS,
  ...[16, 32].map((levels) => ({ colors: 256, dither: 0, levels })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];

/**
 * The settings of an encoder, ordered from the smallest file to the largest. The requested or default quality is the
 * last one.
 */
export function encoderSettingsFor(
  encode: CommonEncoderSettings,
  quantity: SearchedQuantity,
  frames: number,
): EncoderSetting[] {
  const { format, quality, lossless, colors = 256 } = encode;
  if (format === 'gif')
    return (frames > 1 ? ANIMATED_GIF_SETTINGS : STILL_GIF_SETTINGS).filter((one) => one.colors <= colors);
  if (format === 'png') {
    const palettes = PNG_SETTINGS.filter((one) => one.colors <= colors);
    return encode.colors === undefined ? [...palettes, { effort: 9 }] : palettes;
  }
  if (lossless) return [{ effort: 9 }, { effort: 4 }];
  // A search for a likeness may need more than the default quality. A search within a byte limit does not exceed it.
  const isForLikeness = quantity !== 'size';
  const best = quality ?? (isForLikeness ? 100 : (defaultQuality(format) ?? 100));
  const lossy = Array.from({ length: best }, (_, index) => ({ quality: index + 1 }));
  const canBeLossless = isForLikeness && quality === undefined && format !== 'jpeg';
  return canBeLossless ? [...lossy, { lossless: true }] : lossy;
}

/** The lowest quality at which a file looks acceptable. */
const MIN_ACCEPTABLE_QUALITY = 20;
/** The fewest colours of a palette that looks acceptable. */
const MIN_ACCEPTABLE_COLOURS = 16;

/** Whether a setting looks so poor that a smaller picture, or fewer frames, would look better. */
export function isPoorSetting({ quality, paletteQuality = quality, colors }: EncoderSetting): boolean {
  return (paletteQuality ?? 100) < MIN_ACCEPTABLE_QUALITY || (colors ?? 256) < MIN_ACCEPTABLE_COLOURS;
}

/** The largest difference between neighbouring settings of a drawing, in natural logarithms of the file size. */
const DRAWING_TOLERANCE = 0.1;
/**
 * Settings of an animated drawing: the values per colour channel, and how the size typically differs from that of the
 * exact file, as a natural logarithm. It was measured with screen recordings and cartoons of 120 to 380 frames. The
 * reduced colours are hardly visible: the PSNR is 35 for 16 levels and 41 for 32. A file holds only pixels that change,
 * and rounding never makes equal pixels differ. A lossy encoder changes pixels that stayed the same, and may write ten
 * times as many bytes.
 */
const DRAWING_LEVELS: ReadonlyArray<readonly [levels: number | undefined, typicalDifference: number]> = [
  [16, -0.45],
  [20, -0.39],
  [24, -0.35],
  [32, -0.27],
  [48, -0.18],
  [64, -0.13],
  [128, -0.05],
  [undefined, 0],
];

/** The setting that makes the smallest file of an animated drawing. */
export const COARSEST_DRAWING_SETTING: EncoderSetting = { lossless: true, levels: 16 };

/**
 * The settings of an animated drawing.
 * @param logExactSize the natural logarithm of the size of its exact file.
 */
export function losslessLevelsLadder(logExactSize: number) {
  return {
    settings: DRAWING_LEVELS.map(
      ([levels]): EncoderSetting => ({ lossless: true, ...(levels !== undefined && { levels }) }),
    ),
    expected: (index: number) => logExactSize + (DRAWING_LEVELS[index]?.[1] ?? 0),
    tolerance: DRAWING_TOLERANCE,
  };
}

/**
 * Size and likeness as functions of an encoder's quality: the mean of six photographs of 768 × 512 pixels (sharp
 * 0.35.5; jpeg progressive, webp with smart subsampling, avif tuned for SSIM, or for visual quality if its score is
 * given). The curve of a single picture runs above or below the mean as a whole, and its slope differs by 10 to 20 %,
 * so two trials are enough to locate it.
 */

export type FormatWithCurves = 'jpeg' | 'webp' | 'avif';
/**
 * The quantity of a curve: the natural logarithm of bytes per pixel, the negative logarithm of 1 - SSIM, or SSIMULACRA
 * 2. On these scales the curves of different pictures run in parallel.
 */
export type SearchedQuantity = 'size' | 'likeness' | 'score';

const CURVE_QUALITIES = [5, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 93, 96, 98, 100];

const QUALITY_CURVES: Record<FormatWithCurves, Record<SearchedQuantity, readonly number[]>> = {
  jpeg: {
    size: [
      -4.05, -3.55, -3.04, -2.75, -2.57, -2.42, -2.28, -2.1, -2, -1.86, -1.69, -1.26, -1.07, -0.74, -0.46,
      0.05,
    ],
    likeness: [1.31, 1.66, 2.06, 2.31, 2.47, 2.61, 2.75, 2.94, 3.05, 3.2, 3.41, 3.75, 4.06, 4.63, 5.45, 7.26],
    score: [-43.9, 1.8, 37.7, 52, 60.1, 65.1, 68.9, 73.4, 75.8, 78.6, 81.3, 87.2, 89.3, 92, 93.8, 95.2],
  },
  webp: {
    size: [
      -3.84, -3.63, -3.32, -3.08, -2.88, -2.72, -2.59, -2.45, -2.38, -2.16, -1.92, -1.61, -1.35, -1.07, -0.9,
      -0.84,
    ],
    likeness: [1.77, 1.91, 2.13, 2.32, 2.5, 2.65, 2.78, 2.92, 2.98, 3.26, 3.53, 3.93, 4.26, 4.64, 4.89, 5.03],
    score: [22.4, 32.2, 43.7, 52.5, 59.3, 64, 67.8, 71.4, 73, 77.4, 81.6, 85.8, 88.4, 90.6, 91.6, 92.1],
  },
  avif: {
    size: [
      -4.9, -4.58, -4.02, -3.57, -3.15, -2.76, -2.36, -2.12, -2, -1.85, -1.6, -1.17, -0.91, -0.77, -0.34,
      0.05,
    ],
    likeness: [1.3, 1.46, 1.77, 2.09, 2.45, 2.85, 3.31, 3.61, 3.77, 3.95, 4.3, 4.75, 5.22, 5.53, 6.38, 12.72],
    score: [-6.1, 7.4, 25.4, 40.3, 54.8, 66.3, 75, 80.7, 82.8, 85, 86.7, 89.7, 91, 92.9, 93.5, 95.5],
  },
};

/** The value of a curve at a quality; below the first quality it is extrapolated. */
export function typicalQuantityAt(
  format: FormatWithCurves,
  quantity: SearchedQuantity,
  quality: number,
): number {
  const curve = QUALITY_CURVES[format][quantity];
  const above = CURVE_QUALITIES.findIndex((one) => one >= quality);
  const right = Math.max(1, above === -1 ? CURVE_QUALITIES.length - 1 : above);
  const [x0, x1] = [CURVE_QUALITIES[right - 1] as number, CURVE_QUALITIES[right] as number];
  const [y0, y1] = [curve[right - 1] as number, curve[right] as number];
  return y0 + ((y1 - y0) * (quality - x0)) / (x1 - x0);
}
