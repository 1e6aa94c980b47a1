import { defineStep, IN_PLACE } from './operation.ts';
import { integer } from './parameter.ts';

export const clahe = defineStep({
  description: 'Brings out detail by equalizing the contrast of small areas.',
  parameters: {
    width: integer(1, 1024, 'Width of an area in pixels.'),
    height: integer(1, 1024, 'Height of an area in pixels.'),
    maxSlope: integer(0, 100, 'How far contrast is raised; 0 sets no limit.', { default: 3 }),
  },
  grey: 'keeps',
  ...IN_PLACE,
  cpuMsPerMegapixel: ({ width, height }) => 500 + 0.5 * width + 5 * height + 0.01 * height ** 2,
  frames: 'each',
  async apply(picture, { width, height, maxSlope }) {
    const area = { width: Math.min(width, picture.width), height: Math.min(height, picture.height) };
    (await picture.at('clahe')).clahe({ ...area, maxSlope });
  },
});
