import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const sharpenOperation = defineStepOperation({
  description: 'Sharpens edges, with separate strength for flat and for detailed areas.',
  parameters: {
    sigma: numberParameter(0.1, 10, 'Width of the edges that are sharpened, in pixels.', { default: 1 }),
    m1: numberParameter(0, 10_000, 'Strength in flat areas.', { default: 1 }),
    m2: numberParameter(0, 10_000, 'Strength in detailed areas.', { default: 2 }),
    x1: numberParameter(0, 10_000, 'Where flat ends and detailed begins.', { default: 2 }),
    y2: numberParameter(0, 10_000, 'The most that is brightened.', { default: 10 }),
    y3: numberParameter(0, 10_000, 'The most that is darkened.', { default: 20 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ m1, m2 }) => m1 === 0 && m2 === 0,
  cpuMsPerMegapixel: ({ sigma }) => 50 + 6 * sigma,
  frames: 'each',
  async apply(picture, options) {
    (await picture.at('sharpen')).sharpen(options);
  },
});
