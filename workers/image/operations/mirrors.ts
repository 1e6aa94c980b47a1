import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';

const MIRROR = {
  ...IN_PLACE_EFFECTS,
  parameters: {},
  grey: 'keeps',
  cpuMsPerMegapixel: 3,
  commutesWithFlatten: true,
} as const;

export const flipOperation = defineStepOperation({
  ...MIRROR,
  description: 'Mirrors the picture top to bottom.',
  // Flipping the whole strip would reverse the order of the frames.
  frames: 'each',
  async apply(picture) {
    (await picture.at('mirror')).flip();
  },
});

export const flopOperation = defineStepOperation({
  ...MIRROR,
  description: 'Mirrors the picture left to right.',
  async apply(picture) {
    (await picture.at('mirror')).flop();
  },
});
