import type { Size } from '../../formats/size.ts';
import { backgroundOr, opensUp } from '../colour/colour.ts';
import { changedSizeFault } from '../pixels/geometry.ts';
import { pad } from '../sizing.ts';
import { defineStep } from './operation.ts';
import { choice, colour, integer, optional } from './parameter.ts';

const MAX_ADDED_PX = 16384;

type Room = Record<'top' | 'right' | 'bottom' | 'left', number>;

export const extend = defineStep({
  description: 'Adds room around the picture, filled with a colour or with what lies at its edges.',
  parameters: {
    top: integer(0, MAX_ADDED_PX, 'Pixels to add above.', { default: 0 }),
    right: integer(0, MAX_ADDED_PX, 'Pixels to add on the right.', { default: 0 }),
    bottom: integer(0, MAX_ADDED_PX, 'Pixels to add below.', { default: 0 }),
    left: integer(0, MAX_ADDED_PX, 'Pixels to add on the left.', { default: 0 }),
    extendWith: choice(
      ['background', 'copy', 'repeat', 'mirror'],
      'What fills the room: the background colour, the edge pixels, the picture again, or its mirror image.',
      { default: 'background' },
    ),
    background: optional(colour('Colour of the room.')),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: ({ background, extendWith }) =>
    extendWith === 'background' && opensUp(background) ? true : undefined,
  changesNothing: ({ top, right, bottom, left }) => top + right + bottom + left === 0,
  cpuMsPerMegapixel: 8,
  fits: (picture, room) => changedSizeFault(picture, extendedSize(picture, room)),
  size: extendedSize,
  async apply(picture, { extendWith, background, ...room }, { fill }) {
    await pad(picture, room, backgroundOr(fill, background), extendWith);
  },
});

function extendedSize(input: Size, { top, right, bottom, left }: Room): Size {
  return { width: input.width + left + right, height: input.height + top + bottom };
}
