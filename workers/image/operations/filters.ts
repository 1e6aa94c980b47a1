import { gaussianBlur } from '../gaussian.ts';
import { pixelateBox } from '../pixels/paint.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import * as parameter from './parameter.ts';

export const blur = defineStepOperation({
  description: 'Blurs the picture.',
  parameters: {
    sigma: parameter.number(0.3, 1000, 'Strength of the blur: the standard deviation in pixels.', {
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

export const sharpen = defineStepOperation({
  description: 'Sharpens edges, with separate strength for flat and for detailed areas.',
  parameters: {
    sigma: parameter.number(0.1, 10, 'Width of the edges that are sharpened, in pixels.', { default: 1 }),
    m1: parameter.number(0, 10_000, 'Strength in flat areas.', { default: 1 }),
    m2: parameter.number(0, 10_000, 'Strength in detailed areas.', { default: 2 }),
    x1: parameter.number(0, 10_000, 'Where flat ends and detailed begins.', { default: 2 }),
    y2: parameter.number(0, 10_000, 'The most that is brightened.', { default: 10 }),
    y3: parameter.number(0, 10_000, 'The most that is darkened.', { default: 20 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ m1, m2 }) => m1 === 0 && m2 === 0,
  cpuMsPerMegapixel: ({ sigma }) => 50 + 6 * sigma,
  frames: 'each',
  async apply(picture, options) {
    (await picture.at('sharpen')).sharpen(options);
  },
});

export const median = defineStepOperation({
  description: 'Removes speckles: each pixel becomes the middle value of those around it.',
  parameters: {
    size: parameter.integer(1, 25, 'Edge of the square that is looked at, in pixels.', { default: 3 }),
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

export const dilate = defineMorphology('dilate', 'Grows the black shapes of a black and white picture.');
export const erode = defineMorphology('erode', 'Shrinks the black shapes of a black and white picture.');

function defineMorphology(name: 'dilate' | 'erode', description: string) {
  return defineStepOperation({
    description,
    parameters: { width: parameter.integer(1, 64, 'By how many pixels.', { default: 1 }) },
    grey: 'keeps',
    ...IN_PLACE_EFFECTS,
    cpuMsPerMegapixel: ({ width }) => 2 + 0.33 * width ** 2,
    frames: 'each',
    async apply(picture, { width }) {
      (await picture.at(name))[name](width);
    },
  });
}

const MAX_KERNEL_EDGE = 31;

export const convolve = defineStepOperation({
  description: 'Makes each pixel the weighted sum of those around it.',
  parameters: {
    width: parameter.integer(3, MAX_KERNEL_EDGE, 'Width of the kernel.'),
    height: parameter.integer(3, MAX_KERNEL_EDGE, 'Height of the kernel.'),
    kernel: parameter.numberList(
      9,
      MAX_KERNEL_EDGE * MAX_KERNEL_EDGE,
      'The weights, row by row: width × height of them.',
    ),
    scale: parameter.optional(
      parameter.integer(1, 1_000_000, 'Divisor of the sum; the sum of the weights when left out.'),
    ),
    offset: parameter.number(-255, 255, 'Added at the end.', { default: 0 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: ({ width, height }) => 5 + 2 * width * height,
  frames: 'each',
  findInvalidArgument({ width, height, kernel }) {
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

export const pixelate = defineStepOperation({
  description: 'Turns the picture into coarse blocks.',
  parameters: { size: parameter.integer(2, 512, 'Edge of a block in pixels.', { default: 16 }) },
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
