import { blurBy } from '../gaussian.ts';
import { defineStep, IN_PLACE } from './operation.ts';
import { number } from './parameter.ts';

export const blur = defineStep({
  description: 'Blurs the picture.',
  parameters: {
    sigma: number(0.3, 1000, 'Strength of the blur: the standard deviation in pixels.', { default: 3 }),
  },
  grey: 'keeps',
  ...IN_PLACE,
  copies: 2,
  cpuMsPerMegapixel: 110,
  // On a strip, neighbouring frames would bleed into each other.
  frames: 'each',
  commutesWithFlatten: true,
  apply: (picture, { sigma }) => blurBy(picture, sigma),
});
