import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';

export const autoOrientOperation = defineStepOperation({
  description:
    'Turns the picture upright by its EXIF orientation. Every pass begins with that, so the step changes nothing.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 10,
  commutesWithFlatten: true,
  async apply() {},
});
