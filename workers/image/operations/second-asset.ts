import type { Raw } from 'sharp';
import type { Size } from '../geometry.ts';
import { BadArgument } from '../refusal.ts';
import type { PassContext } from './operation.ts';

/** A second asset as raw pixels, stretched to a size. @throws BadArgument on `assetId` when it cannot be read. */
export async function layerAs(
  channels: 1 | 3 | 4,
  { width, height }: Size,
  file: Uint8Array,
  { sharp }: PassContext,
): Promise<{ data: Buffer; raw: Raw }> {
  const layer = sharp(file, { autoOrient: true, failOn: 'error' }).resize({ width, height, fit: 'fill' });
  if (channels === 1) layer.flatten().toColourspace('b-w');
  else if (channels === 3) layer.flatten();
  else layer.ensureAlpha();
  const { data } = await layer
    .raw()
    .toUint8Array()
    .catch(() => {
      throw new BadArgument('assetId', 'assetId names an asset that cannot be decoded.');
    });
  return { data: Buffer.from(data.buffer), raw: { width, height, channels } };
}
