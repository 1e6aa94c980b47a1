import { defineStep } from './operation.ts';

export const removeAlpha = defineStep({
  description: 'Drops the transparency and shows the colours that lay under it.',
  parameters: {},
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: 'dropped',
  changesNothing: 'never',
  cpuMsPerMegapixel: 8,
  async apply(picture) {
    (await picture.at('removeAlpha')).removeAlpha();
    picture.hasAlpha = false;
  },
});
