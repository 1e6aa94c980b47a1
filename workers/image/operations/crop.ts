import { Type } from '@sinclair/typebox';
import type { Size } from '../../formats/size.ts';
import { largestSizeOfRatio, sizeLimitError } from '../pixels/geometry.ts';
import { cropAnchorOf, scaleAndCrop } from './crop-to.ts';
import { defineStepOperation } from './operation.ts';
import { FOCAL_POINT_PARAMETERS, gravityParameter, optionalParameter } from './parameter.ts';

export const cropOperation = defineStepOperation({
  description: 'Cuts out the largest rectangle of an aspect ratio.',
  parameters: {
    aspect: Type.String({
      pattern: '^[1-9]\\d{0,4}:[1-9]\\d{0,4}$',
      examples: ['16:9'],
      description: 'Width to height, such as 16:9.',
    }),
    gravity: optionalParameter(gravityParameter('The part that is kept; center when left out.')),
    ...FOCAL_POINT_PARAMETERS,
  },
  grey: 'keeps',
  copies: 0,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 20,
  commutesWithFlatten: true,
  fits: (picture, { aspect }) => sizeLimitError(resultOf(picture, aspect), picture.frames),
  size: (input, { aspect }) => resultOf(input, aspect),
  async apply(picture, { aspect, ...aim }) {
    const scaled = { width: picture.width, height: picture.height };
    await scaleAndCrop(picture, { scaled, result: resultOf(picture, aspect) }, cropAnchorOf(aim));
  },
});

function resultOf(input: Size, aspect: string): Size {
  const [across = 1, down = 1] = aspect.split(':').map(Number);
  return largestSizeOfRatio(input, across / down);
}
