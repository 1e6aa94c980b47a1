import type { Size } from '../../formats/size.ts';
import { isTranslucent, parseColour } from '../colour/colour.ts';
import { changedSizeFault, cornerRadius, isRound } from '../pixels/geometry.ts';
import { fillCorners, roundCorners } from '../pixels/paint.ts';
import { pad } from '../sizing.ts';
import { defineStep } from './operation.ts';
import { colour, integer, radius } from './parameter.ts';

export const border = defineStep({
  description: 'Draws a frame around the picture; the canvas grows by twice its width.',
  parameters: {
    width: integer(0, 2048, 'Thickness of the frame in pixels.'),
    color: colour('Colour of the frame.', { default: '#000000' }),
    radius: radius('Radius of the outer corners as in round_corners; the inner ones follow it.', {
      default: 0,
    }),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: ({ radius, width, color }) =>
    isRound(radius) || (width > 0 && isTranslucent(color)) ? true : undefined,
  changesNothing: ({ width, radius }) => width === 0 && !isRound(radius),
  cpuMsPerMegapixel: 8,
  frames: 'each',
  fits: (picture, { width }) => changedSizeFault(picture, framedSize(picture, width)),
  size: (input, { width }) => framedSize(input, width),
  async apply(picture, { width, color, radius }) {
    const ink = parseColour(color, 'color');
    const outer = cornerRadius(radius, framedSize(picture, width));
    const inner = { width: outer.width - width, height: outer.height - width };
    if (width > 0 && inner.width > 0 && inner.height > 0)
      fillCorners(await picture.pixels('rgba'), inner, ink);
    await pad(picture, { top: width, right: width, bottom: width, left: width }, ink);
    if (isRound(radius)) roundCorners(await picture.pixels('rgba'), outer);
  },
});

function framedSize({ width, height }: Size, framePx: number): Size {
  return { width: width + 2 * framePx, height: height + 2 * framePx };
}
