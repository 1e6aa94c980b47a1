import type { ImageFacts } from '../../protocol.ts';
import { coloursOf } from './colours.ts';
import { entropyOf, greyOf, sharpnessOf } from './grey-facts.ts';
import { allHashesOf } from './hashes.ts';
import { paletteOf } from './palette.ts';
import type { Sample } from './sample.ts';

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
 * Measures the facts that come from the pixels themselves.
 * @param palette the most colours of a palette; without it, none is measured.
 */
export function measure(pixels: Sample, palette?: number): MeasuredFacts {
  const grey = greyOf(pixels.data, pixels.channels, pixels);
  const [entropy, sharpness] = [entropyOf(grey), sharpnessOf(grey)];
  const facts = { ...coloursOf(pixels), entropy, sharpness, ...allHashesOf(pixels) };
  return palette === undefined ? facts : { ...facts, palette: paletteOf(pixels, palette) };
}
