import { defineStep, IN_PLACE } from './operation.ts';

const MIRROR = {
  ...IN_PLACE,
  parameters: {},
  grey: 'keeps',
  cpuMsPerMegapixel: 3,
  commutesWithFlatten: true,
} as const;

export const flip = defineStep({
  ...MIRROR,
  description: 'Mirrors the picture top to bottom.',
  // A flipped strip would show its frames in reverse order.
  frames: 'each',
  async apply(picture) {
    (await picture.at('mirror')).flip();
  },
});

export const flop = defineStep({
  ...MIRROR,
  description: 'Mirrors the picture left to right.',
  async apply(picture) {
    (await picture.at('mirror')).flop();
  },
});
