import { step } from './operation.ts';

export const unflatten = step({
  description: 'Makes white pixels transparent.',
  parameters: {},
  cost: 0.3,
  async apply(picture) {
    (await picture.at('unflatten')).unflatten();
    picture.hasAlpha = true;
  },
});
