import { cornerRadius, isRoundRadius } from '../pixels/geometry.ts';
import { makeCornersTransparent as round } from '../pixels/paint.ts';
import { defineStepOperation } from './operation.ts';
import { radiusParameter } from './parameter.ts';

export const roundCornersOperation = defineStepOperation({
  description: 'Rounds the corners, up to a full circle or ellipse; what is cut off becomes transparent.',
  parameters: {
    radius: radiusParameter(
      'Radius in pixels, at most half of the shorter edge, or as a share of both edges up to 50%, which makes a circle of a square.',
    ),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'added',
  changesNothing: ({ radius }) => !isRoundRadius(radius),
  cpuMsPerMegapixel: 12,
  frames: 'each',
  async apply(picture, { radius }) {
    round(await picture.pixels('rgba'), cornerRadius(radius, picture));
  },
});
