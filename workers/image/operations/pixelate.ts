import { pixelateBox } from '../pixels/paint.ts';
import { defineStepOperation } from './operation.ts';
import { integerParameter } from './parameter.ts';

export const pixelateOperation = defineStepOperation({
  description: 'Turns the picture into coarse blocks.',
  parameters: { size: integerParameter(2, 512, 'Edge of a block in pixels.', { default: 16 }) },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 32,
  frames: 'each',
  async apply(picture, { size }) {
    const pixels = await picture.pixels();
    pixelateBox(pixels, { left: 0, top: 0, width: pixels.width, height: pixels.height }, size);
  },
});
