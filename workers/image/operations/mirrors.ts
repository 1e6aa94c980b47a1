import { IN_PLACE, step } from './operation.ts';

const MIRROR = {
  ...IN_PLACE,
  parameters: {},
  grey: 'keeps',
  cpuMsPerMegapixel: 3,
  commutesWithFlatten: true,
} as const;

export const flip = step({
  ...MIRROR,
  description: 'Mirrors the picture top to bottom.',
  // A flipped strip would show its frames in reverse order.
  frames: 'each',
  async apply(picture) {
    (await picture.at('mirror')).flip();
  },
});

export const flop = step({
  ...MIRROR,
  description: 'Mirrors the picture left to right.',
  async apply(picture) {
    (await picture.at('mirror')).flop();
  },
});
