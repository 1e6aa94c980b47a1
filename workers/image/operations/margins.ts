import type { Size } from '../../formats/size.ts';
import { backgroundOrFill, isTranslucentColour, leavesTransparency, parseColour } from '../colour/colour.ts';
import { changedSizeLimitError, cornerRadius, isRoundRadius } from '../pixels/geometry.ts';
import { fillCorners, makeCornersTransparent } from '../pixels/paint.ts';
import { padPicture } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import * as parameter from './parameter.ts';

const MAX_ADDED_MARGIN_PX = 16384;

type AddedMargins = Record<'top' | 'right' | 'bottom' | 'left', number>;

export const extend = defineStepOperation({
  description: 'Adds room around the picture, filled with a colour or with what lies at its edges.',
  parameters: {
    top: parameter.integer(0, MAX_ADDED_MARGIN_PX, 'Pixels to add above.', { default: 0 }),
    right: parameter.integer(0, MAX_ADDED_MARGIN_PX, 'Pixels to add on the right.', { default: 0 }),
    bottom: parameter.integer(0, MAX_ADDED_MARGIN_PX, 'Pixels to add below.', { default: 0 }),
    left: parameter.integer(0, MAX_ADDED_MARGIN_PX, 'Pixels to add on the left.', { default: 0 }),
    extendWith: parameter.choice(
      ['background', 'copy', 'repeat', 'mirror'],
      'What fills the room: the background colour, the edge pixels, the picture again, or its mirror image.',
      { default: 'background' },
    ),
    background: parameter.optional(parameter.colour('Colour of the room.')),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: ({ background, extendWith }) =>
    extendWith === 'background' && leavesTransparency(background) ? true : undefined,
  changesNothing: ({ top, right, bottom, left }) => top + right + bottom + left === 0,
  cpuMsPerMegapixel: 8,
  findFitError: (picture, room) => changedSizeLimitError(picture, extendedSize(picture, room)),
  size: extendedSize,
  async apply(picture, { extendWith, background, ...room }, { fill }) {
    await padPicture(picture, room, backgroundOrFill(fill, background), extendWith);
  },
});

function extendedSize(input: Size, { top, right, bottom, left }: AddedMargins): Size {
  return { width: input.width + left + right, height: input.height + top + bottom };
}

export const border = defineStepOperation({
  description: 'Draws a frame around the picture; the canvas grows by twice its width.',
  parameters: {
    width: parameter.integer(0, 2048, 'Thickness of the frame in pixels.'),
    color: parameter.colour('Colour of the frame.', { default: '#000000' }),
    radius: parameter.radius('Radius of the outer corners as in round_corners; the inner ones follow it.', {
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
  findFitError: (picture, { width }) => changedSizeLimitError(picture, framedSize(picture, width)),
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

export const roundCorners = defineStepOperation({
  description: 'Rounds the corners, up to a full circle or ellipse; what is cut off becomes transparent.',
  parameters: {
    radius: parameter.radius(
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
    makeCornersTransparent(await picture.pixels('rgba'), cornerRadius(radius, picture));
  },
});
