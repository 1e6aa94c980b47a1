import { Type } from '@sinclair/typebox';
import { cornerRadius, type Size } from '../pixels/geometry.ts';
import { roundCorners as round } from '../pixels/paint.ts';
import { defineStep } from './operation.ts';

export const roundCorners = defineStep({
  description: 'Rounds the corners, up to a full circle or ellipse; what is cut off becomes transparent.',
  parameters: {
    radius: Type.Union(
      [
        Type.Integer({ minimum: 0, maximum: 8192 }),
        Type.String({ pattern: '^([0-9]|[1-4][0-9]|50)%$', examples: ['50%'] }),
      ],
      {
        description:
          'Radius in pixels, at most half of the shorter edge, or as a share of both edges up to 50%, which makes a circle of a square.',
      },
    ),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'added',
  changesNothing: ({ radius }) => radius === 0 || radius === '0%',
  cpuMsPerMegapixel: 12,
  frames: 'each',
  async apply(picture, { radius }) {
    round(await picture.pixels('rgba'), radiusOf(radius, picture));
  },
});

function radiusOf(radius: number | string, size: Size): Size {
  if (typeof radius === 'number') return cornerRadius(radius, size);
  const { width, height } = size;
  const share = Number.parseInt(radius, 10) / 100;
  return { width: width * share, height: height * share };
}
