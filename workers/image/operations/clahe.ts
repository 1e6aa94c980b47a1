import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { integerParameter } from './parameter.ts';

export const claheOperation = defineStepOperation({
  description: 'Brings out detail by equalizing the contrast of small areas.',
  parameters: {
    width: integerParameter(1, 1024, 'Width of an area in pixels.'),
    height: integerParameter(1, 1024, 'Height of an area in pixels.'),
    maxSlope: integerParameter(0, 100, 'How far contrast is raised; 0 sets no limit.', { default: 3 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: ({ width, height }) => 500 + 0.5 * width + 5 * height + 0.01 * height ** 2,
  frames: 'each',
  async apply(picture, { width, height, maxSlope }) {
    const area = { width: Math.min(width, picture.width), height: Math.min(height, picture.height) };
    (await picture.at('clahe')).clahe({ ...area, maxSlope });
  },
});
