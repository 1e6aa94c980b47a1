import { step } from './operation.ts';

export const autoOrient = step({
  description:
    'Turns the picture upright by its EXIF orientation. Every pass begins with that; said again, it changes nothing.',
  parameters: {},
  cost: 0,
  commutesWithFlatten: true,
  async apply() {},
});
