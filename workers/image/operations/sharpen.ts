import { defineStep, IN_PLACE } from './operation.ts';
import { number } from './parameter.ts';

export const sharpen = defineStep({
  description: 'Sharpens edges, with separate strength for flat and for detailed areas.',
  parameters: {
    sigma: number(0.1, 10, 'Width of the edges that are sharpened, in pixels.', { default: 1 }),
    m1: number(0, 10_000, 'Strength in flat areas.', { default: 1 }),
    m2: number(0, 10_000, 'Strength in detailed areas.', { default: 2 }),
    x1: number(0, 10_000, 'Where flat ends and detailed begins.', { default: 2 }),
    y2: number(0, 10_000, 'The most that is brightened.', { default: 10 }),
    y3: number(0, 10_000, 'The most that is darkened.', { default: 20 }),
  },
  grey: 'keeps',
  ...IN_PLACE,
  changesNothing: ({ m1, m2 }) => m1 === 0 && m2 === 0,
  cpuMsPerMegapixel: ({ sigma }) => 50 + 6 * sigma,
  frames: 'each',
  async apply(picture, options) {
    (await picture.at('sharpen')).sharpen(options);
  },
});
