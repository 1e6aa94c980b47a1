import { step } from './operation.ts';

export const unflatten = step({
  description: 'Makes white pixels transparent.',
  parameters: {},
  grey: 'keeps',
  cpuMsPerMegapixel: 10,
  async apply(picture) {
    (await picture.at('unflatten')).unflatten();
    picture.hasAlpha = true;
  },
});
