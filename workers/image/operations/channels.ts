import type { Raw } from 'sharp';
import type { Size } from '../../formats/size.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, type PassContext } from './operation.ts';
import * as parameter from './parameter.ts';

export const extractChannel = defineStepOperation({
  description: 'Shows one channel of the picture in shades of gray.',
  parameters: { channel: parameter.choice(['red', 'green', 'blue', 'alpha'], 'The channel to show.') },
  grey: 'makes',
  copies: 1,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 2,
  profile: () => 'srgb',
  findFitError({ hasAlpha }, { channel }) {
    if (channel !== 'alpha' || hasAlpha !== false) return undefined;
    const message = 'channel is alpha, but the picture has no transparency: ask for red, green or blue.';
    return new BadArgumentError('channel', message);
  },
  async apply(picture, { channel }) {
    (await picture.at('extractChannel')).extractChannel(channel);
    picture.hasAlpha = false;
  },
});

export const joinChannel = defineStepOperation({
  description:
    "Takes the brightness of a second asset as the picture's transparency. The asset is stretched to the picture's size.",
  parameters: { assetId: parameter.assetId('The second asset: black is transparent, white is opaque.') },
  copies: 1,
  alphaAfter: 'added',
  cpuMsPerMegapixel: 40,
  frames: 'each',
  readsSecondAsset: 'assetId',
  async apply(picture, { assetId }, pass) {
    (await picture.at('removeAlpha')).removeAlpha();
    await picture.pixels();
    const { data, raw } = await readStretchedLayer(1, picture, assetId, pass);
    (await picture.at('joinChannel')).joinChannel(data, { raw });
    picture.hasAlpha = true;
  },
});

export const bandbool = defineStepOperation({
  description: 'Joins the channels of the picture bit by bit into one.',
  parameters: { operator: parameter.choice(['and', 'or', 'eor'], 'How bits are joined.') },
  grey: 'makes',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 5,
  async apply(picture, { operator }) {
    (await picture.at('bandbool')).bandbool(operator);
    picture.hasAlpha = false;
  },
});

export const boolean = defineStepOperation({
  description:
    "Joins the picture with a second asset, bit by bit. The asset is stretched to the picture's size.",
  parameters: {
    assetId: parameter.assetId('The second asset.'),
    operator: parameter.choice(['and', 'or', 'eor'], 'How bits are joined.'),
  },
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 40,
  frames: 'each',
  readsSecondAsset: 'assetId',
  async apply(picture, { assetId, operator }, pass) {
    // Both pictures must have the same number of channels. The number is known only from the pixels.
    const { channels } = await picture.pixels();
    const { data, raw } = await readStretchedLayer(channels, picture, assetId, pass);
    (await picture.at('boolean')).boolean(data, operator, { raw });
  },
});

/** The pixels of the second asset in `assetId`, with `channels` channels and stretched to a size. */
async function readStretchedLayer(
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
