import { isTranslucent, parseColour } from '../colour/colour.ts';
import { changedSizeFault, cornerRadius, type Size } from '../pixels/geometry.ts';
import { fillCorners, roundCorners } from '../pixels/paint.ts';
import { pad } from '../sizing.ts';
import { defineStep } from './operation.ts';
import { colour, integer } from './parameter.ts';

export const border = defineStep({
  description: 'Draws a frame around the picture; the canvas grows by twice its width.',
  parameters: {
    width: integer(0, 2048, 'Thickness of the frame in pixels.'),
    color: colour('Colour of the frame.', { default: '#000000' }),
    radius: integer(
      0,
      8192,
      'Radius of the rounded outer corners in pixels, which the inner ones follow; 0 leaves them square.',
      { default: 0 },
    ),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: ({ radius, width, color }) =>
    radius > 0 || (width > 0 && isTranslucent(color)) ? true : undefined,
  changesNothing: ({ width, radius }) => width === 0 && radius === 0,
  cpuMsPerMegapixel: 8,
  frames: 'each',
  fits: (picture, { width }) => changedSizeFault(picture, framedSize(picture, width)),
  size: (input, { width }) => framedSize(input, width),
  async apply(picture, { width, color, radius }) {
    const ink = parseColour(color, 'color');
    const outer = cornerRadius(radius, framedSize(picture, width));
    const innerPx = outer.width - width;
    if (width > 0 && innerPx > 0)
      fillCorners(await picture.pixels('rgba'), { width: innerPx, height: innerPx }, ink);
    await pad(picture, { top: width, right: width, bottom: width, left: width }, ink);
    if (radius > 0) roundCorners(await picture.pixels('rgba'), outer);
  },
});

function framedSize({ width, height }: Size, framePx: number): Size {
  return { width: width + 2 * framePx, height: height + 2 * framePx };
}
