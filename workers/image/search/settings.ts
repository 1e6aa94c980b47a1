import type { OutputFormat } from '../../protocol.ts';
import { defaultQuality, type Settings } from '../encode/encoder.ts';
import type { Quantity } from './quality-curves.ts';

/** The encoder settings that every trial has in common. */
export type CommonSettings = Settings & { format: OutputFormat };

/** One of the settings of an encoder that a search tries. */
export interface EncoderSetting extends Settings {
  /**
   * Quality of a PNG palette to which a GIF is first reduced, because the GIF encoder has no palette sizes between 16
   * and 256.
   */
  paletteQuality?: number;
}

/**
 * Palettes of few colours. Without dithering a palette is smaller and more like the picture, but with few colours it
 * shows bands, so the search uses these only when nothing else is small enough.
 */
const FEW_COLOURS = [2, 4, 16].map((colors) => ({ colors, dither: 0 }));
/** Qualities for which a palette of at most 256 colours is chosen: the fewer colours it needs, the smaller the file. */
const PALETTE_QUALITIES = [1, 5, 10, 20, 30, 40, 50, 60, 70];
const PNG = [...FEW_COLOURS, ...[...PALETTE_QUALITIES, 100].map((quality) => ({ colors: 256, quality }))];
const STILL_GIF = [
  ...FEW_COLOURS,
  ...PALETTE_QUALITIES.map((paletteQuality) => ({ colors: 256, dither: 0, paletteQuality })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];
/** Largest difference at which pixels count as equal to those of the frame before. */
const MOVING_GIF = [
  ...FEW_COLOURS,
  ...[32, 16, 8, 4].map((interFrameMaxError) => ({ colors: 256, dither: 0, interFrameMaxError })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];

/** An encoder's settings from its smallest file to its largest; the requested or default quality is the best one. */
export function settingsFor(encode: CommonSettings, quantity: Quantity, frames: number): EncoderSetting[] {
  const { format, quality, lossless, colors = 256 } = encode;
  if (format === 'gif') return (frames > 1 ? MOVING_GIF : STILL_GIF).filter((one) => one.colors <= colors);
  if (format === 'png') {
    const palettes = PNG.filter((one) => one.colors <= colors);
    return encode.colors === undefined ? [...palettes, { effort: 9 }] : palettes;
  }
  if (lossless) return [{ effort: 9 }, { effort: 4 }];
  // A likeness may need more than the default quality, but a size target is no reason to make a file larger.
  const isForLikeness = quantity !== 'size';
  const best = quality ?? (isForLikeness ? 100 : (defaultQuality(format) ?? 100));
  const lossy = Array.from({ length: best }, (_, index) => ({ quality: index + 1 }));
  const canBeLossless = isForLikeness && quality === undefined && format !== 'jpeg';
  return canBeLossless ? [...lossy, { lossless: true }] : lossy;
}
