import { defineStep } from './operation.ts';
import { assetId } from './parameter.ts';
import { layerAs } from './second-asset.ts';

export const joinChannel = defineStep({
  description:
    "Takes the brightness of a second asset as the picture's transparency. The asset is stretched to the picture's size.",
  parameters: { assetId: assetId('The second asset: black is transparent, white is opaque.') },
  copies: 1,
  alphaAfter: 'added',
  cpuMsPerMegapixel: 40,
  frames: 'each',
  readsSecondAsset: 'assetId',
  async apply(picture, { assetId }, pass) {
    (await picture.at('removeAlpha')).removeAlpha();
    await picture.pixels();
    const { data, raw } = await layerAs(1, picture, assetId, pass);
    (await picture.at('joinChannel')).joinChannel(data, { raw });
    picture.hasAlpha = true;
  },
});
