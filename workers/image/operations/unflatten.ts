import { step } from './operation.ts';

export const unflatten = step({
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
