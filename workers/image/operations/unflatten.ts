import { defineStep, IN_PLACE } from './operation.ts';

export const unflatten = defineStep({
  description: 'Makes white pixels transparent.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE,
  alphaAfter: 'added',
  cpuMsPerMegapixel: 10,
  async apply(picture) {
    (await picture.at('unflatten')).unflatten();
    picture.hasAlpha = true;
  },
});
