import type { PictureHashes } from '../../protocol.ts';
import type { Size } from '../pixels/geometry.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { blurHash } from './blur-hash.ts';
import { thumbHash } from './thumb-hash.ts';

/** The longest side of the copy that a ThumbHash and a BlurHash are made from. */
export const HASHED_PX = 100;

/** The ThumbHash and the BlurHash of a picture of at most 100 pixels an edge. A BlurHash knows no transparency: it is laid on white. */
export function hashesOf({ data, channels, width, height }: Omit<Pixels, 'frames'>): PictureHashes {
  const rgba = channels === 4 ? data : opaque(data, channels, { width, height });
  const thumbhash = Buffer.from(thumbHash(rgba, { width, height })).toString('base64');
  const [across, down] = width >= height ? ([4, 3] as const) : ([3, 4] as const);
  return { thumbhash, blurhash: blurHash(onWhite(rgba), { width, height }, across, down) };
}

function opaque(data: Uint8Array, channels: number, { width, height }: Size): Uint8Array {
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (let from = 0, to = 0; to < rgba.length; from += channels, to += 4) {
    for (let channel = 0; channel < 3; channel++)
      rgba[to + channel] = data[from + Math.min(channel, channels - 1)] as number;
  }
  return rgba;
}

function onWhite(rgba: Uint8Array): Uint8Array {
  if (isOpaque(rgba)) return rgba;
  return rgba.map((value, at) => {
    const alpha = rgba[at | 3] as number;
    return (at & 3) === 3 ? 255 : Math.round((value * alpha + 255 * (255 - alpha)) / 255);
  });
}

function isOpaque(rgba: Uint8Array): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return false;
  return true;
}
