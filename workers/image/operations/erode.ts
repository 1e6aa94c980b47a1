import { step } from './operation.ts';
import { integer } from './parameter.ts';

export const erode = step({
  description: 'Shrinks the black shapes of a black and white picture.',
  parameters: { width: integer(1, 64, 'By how many pixels.', { default: 1 }) },
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: 'kept',
  changesNothing: 'never',
  cpuMsPerMegapixel: ({ width }) => 2 + 0.33 * width ** 2,
  frames: 'each',
  async apply(picture, { width }) {
    (await picture.at('erode')).erode(width);
  },
});
