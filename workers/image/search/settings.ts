import type { OutputFormat } from '../../protocol.ts';
import { defaultQuality, type Settings } from '../encode/encoder.ts';
import type { Quantity } from './quality-curves.ts';

/** What an encoder is told for every trial. */
export type Known = Settings & { format: OutputFormat };

/** One row of an encoder's settings. */
export interface Setting extends Settings {
  /** A GIF's palette is chosen for this quality of a PNG first: the encoder itself knows no palette between 16 and 256. */
  paletteQuality?: number;
}

/** A palette without dither is smaller and more like the picture; with few colours it shows bands, so it comes last of all. */
const FEW_COLOURS = [2, 4, 16].map((colors) => ({ colors, dither: 0 }));
/** Qualities that a palette of at most 256 colours is chosen for: the fewer it needs, the smaller the file. */
const PALETTE_QUALITIES = [1, 5, 10, 20, 30, 40, 50, 60, 70];
const PNG = [...FEW_COLOURS, ...[...PALETTE_QUALITIES, 100].map((quality) => ({ colors: 256, quality }))];
const STILL_GIF = [
  ...FEW_COLOURS,
  ...PALETTE_QUALITIES.map((paletteQuality) => ({ colors: 256, dither: 0, paletteQuality })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];
/** How far pixels may differ from those of the frame before and still be taken for the same. */
const MOVING_GIF = [
  ...FEW_COLOURS,
  ...[32, 16, 8, 4].map((interFrameMaxError) => ({ colors: 256, dither: 0, interFrameMaxError })),
  { colors: 256, dither: 0 },
  { colors: 256 },
];

/** An encoder's settings from its smallest file to its largest; the asked or usual quality is the best there is. */
export function settingsFor(encode: Known, quantity: Quantity, frames: number): Setting[] {
  const { format, quality, lossless, colors = 256 } = encode;
  if (format === 'gif') return (frames > 1 ? MOVING_GIF : STILL_GIF).filter((one) => one.colors <= colors);
  if (format === 'png') {
    const palettes = PNG.filter((one) => one.colors <= colors);
    return encode.colors === undefined ? [...palettes, { effort: 9 }] : palettes;
  }
  if (lossless) return [{ effort: 9 }, { effort: 4 }];
  // A likeness may be worth more than the usual quality; a size is not a reason to blow a file up.
  const isForLikeness = quantity !== 'size';
  const best = quality ?? (isForLikeness ? 100 : (defaultQuality(format) ?? 100));
  const lossy = Array.from({ length: best }, (_, index) => ({ quality: index + 1 }));
  const canBeLossless = isForLikeness && quality === undefined && format !== 'jpeg';
  return canBeLossless ? [...lossy, { lossless: true }] : lossy;
}
