import { rgbaToThumbHash } from 'thumbhash';
import type { PlaceholderHashes } from '../../protocol.ts';
import { isChannelFull } from '../pixels/pixels.ts';
import { computeBlurHash } from './blur-hash.ts';
import { computePerceptualHash } from './perceptual-hash.ts';
import type { PixelSample } from './sample.ts';
import { scaledDownCopy } from './small-copy.ts';

/** Longest side, in pixels, of the copy from which ThumbHash and BlurHash are made. */
const MAX_HASHED_EDGE_PX = 100;

/**
 * The ThumbHash, the BlurHash and the perceptual hash of a picture. BlurHash and the perceptual hash know no
 * transparency, so the picture is laid on white for them.
 * @param sample the picture within MAX_SAMPLE_EDGE_PX. A copy of another size gives slightly different hashes.
 */
export function allHashesOf(sample: PixelSample): PlaceholderHashes & { perceptualHash: string } {
  const copy = scaledDownCopy(sample, MAX_HASHED_EDGE_PX);
  return {
    ...drawnHashes(copy),
    perceptualHash: computePerceptualHash({ ...copy, data: onWhite(copy.data), channels: 4 }),
  };
}

/** The perceptual hash alone. */
export function perceptualHashOf(sample: PixelSample): string {
  const copy = scaledDownCopy(sample, MAX_HASHED_EDGE_PX);
  return computePerceptualHash({ ...copy, data: onWhite(copy.data), channels: 4 });
}

/**
 * The ThumbHash and the BlurHash of a picture. BlurHash knows no transparency, so the picture is laid on white for it.
 * @param sample the picture within MAX_SAMPLE_EDGE_PX. A copy of another size gives slightly different hashes.
 */
export function placeholderHashesOf(sample: PixelSample): PlaceholderHashes {
  return drawnHashes(scaledDownCopy(sample, MAX_HASHED_EDGE_PX));
}

function drawnHashes({ data: rgba, width, height }: ReturnType<typeof scaledDownCopy>): PlaceholderHashes {
  const thumbhash = Buffer.from(rgbaToThumbHash(width, height, rgba)).toString('base64');
  const [across, down] = width >= height ? ([4, 3] as const) : ([3, 4] as const);
  return { thumbhash, blurhash: computeBlurHash(onWhite(rgba), { width, height }, across, down) };
}

function onWhite(rgba: Uint8Array): Uint8Array {
  if (isChannelFull(rgba, 3, 4)) return rgba;
  return rgba.map((value, at) => {
    const alpha = rgba[at | 3] as number;
    return (at & 3) === 3 ? 255 : Math.round((value * alpha + 255 * (255 - alpha)) / 255);
  });
}
