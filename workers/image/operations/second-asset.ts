import type { Raw } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { PassContext } from './operation.ts';

/** The pixels of the second asset in `assetId`, with `channels` channels and stretched to a size. */
export async function readStretchedLayer(
  channels: 1 | 3 | 4,
  { width, height }: Size,
  assetId: string,
  { layer }: PassContext,
): Promise<{ data: Buffer; raw: Raw }> {
  const { data } = await layer(assetId, 'assetId', (opened) => {
    const stretched = opened.resize({ width, height, fit: 'fill' });
    if (channels === 4) return stretched.ensureAlpha();
    return channels === 3 ? stretched.flatten() : stretched.flatten().toColourspace('b-w');
  });
  return { data: Buffer.from(data.buffer), raw: { width, height, channels } };
}
