import { defineStep } from './operation.ts';
import { assetId, choice } from './parameter.ts';
import { layerAs } from './second-asset.ts';

export const boolean = defineStep({
  description:
    "Joins the picture with a second asset, bit by bit. The asset is stretched to the picture's size.",
  parameters: {
    assetId: assetId('The second asset.'),
    operator: choice(['and', 'or', 'eor'], 'How bits are joined.'),
  },
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 40,
  frames: 'each',
  readsSecondAsset: 'assetId',
  async apply(picture, { assetId, operator }, pass) {
    // Both must have the same number of channels, which is only known from the pixels.
    const { channels } = await picture.pixels();
    const { data, raw } = await layerAs(channels, picture, assetId, pass);
    (await picture.at('boolean')).boolean(data, operator, { raw });
  },
});
