import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { integerParameter } from './parameter.ts';

export const medianOperation = defineStepOperation({
  description: 'Removes speckles: each pixel becomes the middle value of those around it.',
  parameters: {
    size: integerParameter(1, 25, 'Edge of the square that is looked at, in pixels.', { default: 3 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ size }) => size === 1,
  cpuMsPerMegapixel: ({ size }) => 160 + 1.2 * size,
  frames: 'each',
  async apply(picture, { size }) {
    // libvips refuses a window larger than the picture.
    (await picture.at('median')).median(Math.min(size, picture.width, picture.height));
  },
});
