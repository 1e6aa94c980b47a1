import { mosaic } from '../pixels/paint.ts';
import { defineStep } from './operation.ts';
import { integer } from './parameter.ts';

export const pixelate = defineStep({
  description: 'Turns the picture into coarse blocks.',
  parameters: { size: integer(2, 512, 'Edge of a block in pixels.', { default: 16 }) },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 32,
  frames: 'each',
  async apply(picture, { size }) {
    const pixels = await picture.pixels();
    mosaic(pixels, { left: 0, top: 0, width: pixels.width, height: pixels.height }, size);
  },
});
