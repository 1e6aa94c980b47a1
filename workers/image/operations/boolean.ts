import { defineStepOperation } from './operation.ts';
import { assetIdParameter, choiceParameter } from './parameter.ts';
import { readStretchedLayer } from './second-asset.ts';

export const booleanOperation = defineStepOperation({
  description:
    "Joins the picture with a second asset, bit by bit. The asset is stretched to the picture's size.",
  parameters: {
    assetId: assetIdParameter('The second asset.'),
    operator: choiceParameter(['and', 'or', 'eor'], 'How bits are joined.'),
  },
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 40,
  frames: 'each',
  readsSecondAsset: 'assetId',
  async apply(picture, { assetId, operator }, pass) {
    // Both pictures must have the same number of channels, which only the pixels tell.
    const { channels } = await picture.pixels();
    const { data, raw } = await readStretchedLayer(channels, picture, assetId, pass);
    (await picture.at('boolean')).boolean(data, operator, { raw });
  },
});
