import { defineStepOperation } from './operation.ts';
import { assetIdParameter } from './parameter.ts';
import { readStretchedLayer } from './second-asset.ts';

export const joinChannelOperation = defineStepOperation({
  description:
    "Takes the brightness of a second asset as the picture's transparency. The asset is stretched to the picture's size.",
  parameters: { assetId: assetIdParameter('The second asset: black is transparent, white is opaque.') },
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
