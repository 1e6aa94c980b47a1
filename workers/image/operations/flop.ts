import { step } from './operation.ts';

export const flop = step({
  description: 'Mirrors the picture left to right.',
  parameters: {},
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: 'kept',
  changesNothing: 'never',
  cpuMsPerMegapixel: 3,
  commutesWithFlatten: true,
  async apply(picture) {
    (await picture.at('mirror')).flop();
  },
});
