import { defineStep, IN_PLACE } from './operation.ts';
import { integer } from './parameter.ts';

export const dilate = morphology('dilate', 'Grows the black shapes of a black and white picture.');
export const erode = morphology('erode', 'Shrinks the black shapes of a black and white picture.');

function morphology(name: 'dilate' | 'erode', description: string) {
  return defineStep({
    description,
    parameters: { width: integer(1, 64, 'By how many pixels.', { default: 1 }) },
    grey: 'keeps',
    ...IN_PLACE,
    cpuMsPerMegapixel: ({ width }) => 2 + 0.33 * width ** 2,
    frames: 'each',
    async apply(picture, { width }) {
      (await picture.at(name))[name](width);
    },
  });
}
