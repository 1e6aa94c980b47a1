import { Type } from '@sinclair/typebox';
import type { Size } from '../../formats/size.ts';
import { largestOfShape, sizeFault } from '../pixels/geometry.ts';
import { anchorOf, scaleAndCrop } from './crop-to.ts';
import { defineStep } from './operation.ts';
import { FOCAL_POINT_PARAMETERS, gravity, optional } from './parameter.ts';

export const crop = defineStep({
  description: 'Cuts out the largest rectangle of an aspect ratio.',
  parameters: {
    aspect: Type.String({
      pattern: '^[1-9]\\d{0,4}:[1-9]\\d{0,4}$',
      examples: ['16:9'],
      description: 'Width to height, such as 16:9.',
    }),
    gravity: optional(gravity('The part that is kept; center when left out.')),
    ...FOCAL_POINT_PARAMETERS,
  },
  grey: 'keeps',
  copies: 0,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 20,
  commutesWithFlatten: true,
  fits: (picture, { aspect }) => sizeFault(resultOf(picture, aspect), picture.frames),
  size: (input, { aspect }) => resultOf(input, aspect),
  async apply(picture, { aspect, ...aim }) {
    const scaled = { width: picture.width, height: picture.height };
    await scaleAndCrop(picture, { scaled, result: resultOf(picture, aspect) }, anchorOf(aim));
  },
});

function resultOf(input: Size, aspect: string): Size {
  const [across = 1, down = 1] = aspect.split(':').map(Number);
  return largestOfShape(input, across / down);
}
