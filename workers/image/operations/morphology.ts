import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { integerParameter } from './parameter.ts';

export const dilateOperation = morphology('dilate', 'Grows the black shapes of a black and white picture.');
export const erodeOperation = morphology('erode', 'Shrinks the black shapes of a black and white picture.');

function morphology(name: 'dilate' | 'erode', description: string) {
  return defineStepOperation({
    description,
    parameters: { width: integerParameter(1, 64, 'By how many pixels.', { default: 1 }) },
    grey: 'keeps',
    ...IN_PLACE_EFFECTS,
    cpuMsPerMegapixel: ({ width }) => 2 + 0.33 * width ** 2,
    frames: 'each',
    async apply(picture, { width }) {
      (await picture.at(name))[name](width);
    },
  });
}
