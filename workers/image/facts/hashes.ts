import { rgbaToThumbHash } from 'thumbhash';
import type { PictureHashes } from '../../protocol.ts';
import { isChannelFull } from '../pixels/pixels.ts';
import { blurHash } from './blur-hash.ts';
import { perceptualHash } from './perceptual-hash.ts';
import type { Sample } from './sample.ts';
import { smallCopy } from './small-copy.ts';

/** Longest side, in pixels, of the copy from which ThumbHash and BlurHash are made. */
const MAX_HASHED_EDGE_PX = 100;

/**
 * The ThumbHash, the BlurHash and the perceptual hash of a picture. The last two have no transparency, so the picture
 * is laid on white for them.
 * @param sample the picture within MAX_SAMPLE_EDGE_PX; a copy of another size gives slightly different hashes.
 */
export function allHashesOf(sample: Sample): PictureHashes & { perceptualHash: string } {
  const copy = smallCopy(sample, MAX_HASHED_EDGE_PX);
  return {
    ...drawnHashes(copy),
    perceptualHash: perceptualHash({ ...copy, data: onWhite(copy.data), channels: 4 }),
  };
}

/** The perceptual hash alone. */
export function perceptualHashOf(sample: Sample): string {
  const copy = smallCopy(sample, MAX_HASHED_EDGE_PX);
  return perceptualHash({ ...copy, data: onWhite(copy.data), channels: 4 });
}

/**
 * The ThumbHash and the BlurHash of a picture. BlurHash has no transparency, so the picture is laid on white for it.
 * @param sample the picture within MAX_SAMPLE_EDGE_PX; a copy of another size gives slightly different hashes.
 */
export function hashesOf(sample: Sample): PictureHashes {
  return drawnHashes(smallCopy(sample, MAX_HASHED_EDGE_PX));
}

function drawnHashes({ data: rgba, width, height }: ReturnType<typeof smallCopy>): PictureHashes {
  const thumbhash = Buffer.from(rgbaToThumbHash(width, height, rgba)).toString('base64');
  const [across, down] = width >= height ? ([4, 3] as const) : ([3, 4] as const);
  return { thumbhash, blurhash: blurHash(onWhite(rgba), { width, height }, across, down) };
}

function onWhite(rgba: Uint8Array): Uint8Array {
  if (isChannelFull(rgba, 3, 4)) return rgba;
  return rgba.map((value, at) => {
    const alpha = rgba[at | 3] as number;
    return (at & 3) === 3 ? 255 : Math.round((value * alpha + 255 * (255 - alpha)) / 255);
  });
}
