import type { Size } from '../../formats/size.ts';
import { isTranslucentColour, parseColour } from '../colour/colour.ts';
import { changedSizeLimitError, cornerRadius, isRoundRadius } from '../pixels/geometry.ts';
import { fillCorners, makeCornersTransparent } from '../pixels/paint.ts';
import { padPicture } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import { colourParameter, integerParameter, radiusParameter } from './parameter.ts';

export const borderOperation = defineStepOperation({
  description: 'Draws a frame around the picture; the canvas grows by twice its width.',
  parameters: {
    width: integerParameter(0, 2048, 'Thickness of the frame in pixels.'),
    color: colourParameter('Colour of the frame.', { default: '#000000' }),
    radius: radiusParameter('Radius of the outer corners as in round_corners; the inner ones follow it.', {
      default: 0,
    }),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: ({ radius, width, color }) =>
    isRoundRadius(radius) || (width > 0 && isTranslucentColour(color)) ? true : undefined,
  changesNothing: ({ width, radius }) => width === 0 && !isRoundRadius(radius),
  cpuMsPerMegapixel: 8,
  frames: 'each',
  fits: (picture, { width }) => changedSizeLimitError(picture, framedSize(picture, width)),
  size: (input, { width }) => framedSize(input, width),
  async apply(picture, { width, color, radius }) {
    const ink = parseColour(color, 'color');
    const outer = cornerRadius(radius, framedSize(picture, width));
    const inner = { width: outer.width - width, height: outer.height - width };
    if (width > 0 && inner.width > 0 && inner.height > 0)
      fillCorners(await picture.pixels('rgba'), inner, ink);
    await padPicture(picture, { top: width, right: width, bottom: width, left: width }, ink);
    if (isRoundRadius(radius)) makeCornersTransparent(await picture.pixels('rgba'), outer);
  },
});

function framedSize({ width, height }: Size, framePx: number): Size {
  return { width: width + 2 * framePx, height: height + 2 * framePx };
}
