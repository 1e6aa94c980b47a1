import { defineStep, IN_PLACE } from './operation.ts';

export const autoOrient = defineStep({
  description:
    'Turns the picture upright by its EXIF orientation. Every pass begins with that, so the step changes nothing.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE,
  cpuMsPerMegapixel: 10,
  commutesWithFlatten: true,
  async apply() {},
});
