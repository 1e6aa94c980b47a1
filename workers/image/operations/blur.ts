import { gaussianBlur } from '../gaussian.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const blurOperation = defineStepOperation({
  description: 'Blurs the picture.',
  parameters: {
    sigma: numberParameter(0.3, 1000, 'Strength of the blur: the standard deviation in pixels.', {
      default: 3,
    }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  copies: 2,
  cpuMsPerMegapixel: 110,
  // Neighbouring frames would bleed into each other if they were blurred in one strip.
  frames: 'each',
  commutesWithFlatten: true,
  apply: (picture, { sigma }) => gaussianBlur(picture, sigma),
});
