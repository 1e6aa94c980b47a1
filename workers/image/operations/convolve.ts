import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { integerParameter, numberListParameter, numberParameter, optionalParameter } from './parameter.ts';

const MAX_KERNEL_EDGE = 31;

export const convolveOperation = defineStepOperation({
  description: 'Makes each pixel the weighted sum of those around it.',
  parameters: {
    width: integerParameter(3, MAX_KERNEL_EDGE, 'Width of the kernel.'),
    height: integerParameter(3, MAX_KERNEL_EDGE, 'Height of the kernel.'),
    kernel: numberListParameter(
      9,
      MAX_KERNEL_EDGE * MAX_KERNEL_EDGE,
      'The weights, row by row: width × height of them.',
    ),
    scale: optionalParameter(
      integerParameter(1, 1_000_000, 'Divisor of the sum; the sum of the weights when left out.'),
    ),
    offset: numberParameter(-255, 255, 'Added at the end.', { default: 0 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: ({ width, height }) => 5 + 2 * width * height,
  frames: 'each',
  rule({ width, height, kernel }) {
    if (kernel.length === width * height) return undefined;
    const message = `kernel has ${kernel.length} weights, but ${width} × ${height} are expected.`;
    return new BadArgumentError('kernel', message);
  },
  async apply(picture, { width, height, kernel, scale, offset }) {
    (await picture.at('convolve')).convolve({
      width,
      height,
      kernel,
      offset,
      ...(scale !== undefined && { scale }),
    });
  },
});
