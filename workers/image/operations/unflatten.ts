import { defineStep } from './operation.ts';

export const unflatten = defineStep({
  description: 'Makes white pixels transparent.',
  parameters: {},
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: 'added',
  changesNothing: 'never',
  cpuMsPerMegapixel: 10,
  async apply(picture) {
    (await picture.at('unflatten')).unflatten();
    picture.hasAlpha = true;
  },
});
