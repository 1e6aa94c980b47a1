import type { ImageFacts } from '../../protocol.ts';
import type { PixelSample } from '../pixels/pixels.ts';
import { entropyOf, greyPixelsOf, sharpnessOf } from './brightness.ts';
import { averageAndDominantColours } from './colours.ts';
import { allHashesOf } from './hashes.ts';
import { paletteOf } from './palette.ts';

type MeasuredFacts = Pick<
  ImageFacts,
  | 'dominantColor'
  | 'averageColor'
  | 'entropy'
  | 'sharpness'
  | 'thumbhash'
  | 'blurhash'
  | 'perceptualHash'
  | 'palette'
>;

/**
 * Measures the facts that depend on the pixels alone.
 * @param palette the largest number of palette colours. Without it, no palette is measured.
 */
export function measureImage(pixels: PixelSample, palette?: number): MeasuredFacts {
  const grey = greyPixelsOf(pixels.data, pixels.channels, pixels);
  const [entropy, sharpness] = [entropyOf(grey), sharpnessOf(grey)];
  const facts = { ...averageAndDominantColours(pixels), entropy, sharpness, ...allHashesOf(pixels) };
  return palette === undefined ? facts : { ...facts, palette: paletteOf(pixels, palette) };
}
