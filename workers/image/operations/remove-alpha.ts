import { defineStep, IN_PLACE } from './operation.ts';

export const removeAlpha = defineStep({
  description: 'Drops the transparency and shows the colours that lay under it.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 8,
  async apply(picture) {
    (await picture.at('removeAlpha')).removeAlpha();
    picture.hasAlpha = false;
  },
});
