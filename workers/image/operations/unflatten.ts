import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';

export const unflattenOperation = defineStepOperation({
  description: 'Makes white pixels transparent.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'added',
  cpuMsPerMegapixel: 10,
  async apply(picture) {
    (await picture.at('unflatten')).unflatten();
    picture.hasAlpha = true;
  },
});
