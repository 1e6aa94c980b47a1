import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';

export const removeAlphaOperation = defineStepOperation({
  description: 'Drops the transparency and shows the colours that lay under it.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 8,
  async apply(picture) {
    (await picture.at('removeAlpha')).removeAlpha();
    picture.hasAlpha = false;
  },
});
