import { step } from './operation.ts';
import { number } from './parameter.ts';

/** From here on libvips adds up the window in its slow way. */
const SLOW_SIGMA = 100;

export const blur = step({
  description: 'Blurs the picture.',
  parameters: { sigma: number(0.3, 1000, 'Standard deviation in pixels.', { default: 3 }) },
  grey: 'keeps',
  cpuMsPerMegapixel: ({ sigma }) => (sigma > SLOW_SIGMA ? 40 * sigma : 10 + 1.3 * sigma),
  // On a strip, frames would run into each other.
  frames: 'each',
  commutesWithFlatten: true,
  apply: (picture, { sigma }) => picture.blur(sigma),
});
