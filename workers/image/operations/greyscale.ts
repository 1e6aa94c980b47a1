import { step } from './operation.ts';

export const greyscale = step({
  description: 'Takes the colours away.',
  parameters: {},
  cost: 0.5,
  async apply(picture) {
    (await picture.at('greyscale')).greyscale();
  },
});
