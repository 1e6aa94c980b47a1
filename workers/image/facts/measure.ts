import type { ImageFacts } from '../../protocol.ts';
import { coloursOf } from './colours.ts';
import { entropyOf, greyOf, sharpnessOf } from './grey-facts.ts';
import { allHashesOf } from './hashes.ts';
import type { Sample } from './sample.ts';

type MeasuredFacts = Pick<
  ImageFacts,
  'dominantColor' | 'averageColor' | 'entropy' | 'sharpness' | 'thumbhash' | 'blurhash' | 'perceptualHash'
>;

/** Measures the facts that come from the pixels themselves. */
export function measure(pixels: Sample): MeasuredFacts {
  const grey = greyOf(pixels.data, pixels.channels, pixels);
  const [entropy, sharpness] = [entropyOf(grey), sharpnessOf(grey)];
  return { ...coloursOf(pixels), entropy, sharpness, ...allHashesOf(pixels) };
}
