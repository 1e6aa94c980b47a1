import { step } from './operation.ts';

export const flip = step({
  description: 'Mirrors the picture top to bottom.',
  parameters: {},
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: 'kept',
  changesNothing: 'never',
  cpuMsPerMegapixel: 3,
  // A flipped strip would show its frames in reverse order.
  frames: 'each',
  commutesWithFlatten: true,
  async apply(picture) {
    (await picture.at('mirror')).flip();
  },
});
